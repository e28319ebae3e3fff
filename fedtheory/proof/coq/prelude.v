(* {title}

A proof that the kernel composed, with every theorem of it as a lemma (thm_0, thm_1, ...) whose hypotheses are the
region of its letters and the assumptions that it names, with their constants, and no others. Coq checks:
- every identity of coefficients (identity_...), by ring or field;
- every sign (sign_..., nonzero_...) and every use on a smaller region (admitted_...), by a certificate: letters are
  written through parameters >= 0, until all coefficients are >= 0; nothing is searched for;
- every product of vectors below sums (product_...), and every rule: combine with squares, over clients, over steps with
  sums of powers (powers_...), induct, last step, instantiate, both expectations over a cohort, project, both mixtures,
  and what follows over the rounds (one_round, all_rounds).

Lemmas too, from the definitions of the section Round: co-coercivity and interpolation, from smoothness (Lipschitz
gradient and descent lemma) and strong convexity; that noises of several clients and steps are uncorrelated; the round
as the sum of its steps. Hypotheses of the section: V has a symmetric bilinear form ip S, >= 0 on the diagonal, for
every cohort S, which does not depend on S for what is known at the start; expectations are linear, monotone, and keep
constants; x* is a point where the gradient of F vanishes; means over a cohort have an expectation that is known at the
start. Print Assumptions, at the end, lists the axioms on which Coq's real numbers rest, and nothing else. *)
Require Import Reals Lra Lia List Field.
Import ListNotations.
Open Scope R_scope.
Set Implicit Arguments.
Unset Strict Implicit.

(** ** Weighted sums *)

Fixpoint rsum (A : Type) (l : list A) (f : A -> R) : R :=
  match l with [] => 0 | a :: r => f a + rsum r f end.

Definition op (A : Type) := (R * list A)%type.

Definition osum (A : Type) (o : op A) (f : A -> R) : R := fst o * rsum (snd o) f.

Lemma rsum_ext (A : Type) (l : list A) (f g : A -> R) : (forall a, In a l -> f a = g a) -> rsum l f = rsum l g.
Proof. induction l as [|a l IH]; intros H; simpl; [reflexivity|]. rewrite (H a), IH; auto with datatypes. Qed.

Lemma rsum_add (A : Type) (l : list A) (f g : A -> R) : rsum l (fun a => f a + g a) = rsum l f + rsum l g.
Proof. induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma rsum_scale (A : Type) (l : list A) (c : R) (f : A -> R) : rsum l (fun a => c * f a) = c * rsum l f.
Proof. induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring. Qed.

Lemma rsum_const (A : Type) (l : list A) (c : R) : rsum l (fun _ => c) = INR (length l) * c.
Proof. induction l as [|a l IH]; [simpl; ring|]. simpl rsum. simpl length. rewrite S_INR, IH. ring. Qed.

Lemma rsum_swap (A B : Type) (l : list A) (l' : list B) (f : A -> B -> R) :
  rsum l (fun a => rsum l' (fun b => f a b)) = rsum l' (fun b => rsum l (fun a => f a b)).
Proof.
  induction l as [|a l IH]; simpl.
  - rewrite rsum_const. ring.
  - rewrite IH, <- rsum_add. reflexivity.
Qed.

Lemma rsum_nonneg (A : Type) (l : list A) (f : A -> R) : (forall a, In a l -> 0 <= f a) -> 0 <= rsum l f.
Proof.
  induction l as [|a l IH]; intros H; simpl; [lra|].
  apply Rplus_le_le_0_compat; auto with datatypes.
Qed.

Lemma osum_ext_in (A : Type) (o : op A) (f g : A -> R) :
  (forall a, In a (snd o) -> f a = g a) -> osum o f = osum o g.
Proof. intros H. unfold osum. rewrite (rsum_ext H). reflexivity. Qed.

Lemma osum_ext (A : Type) (o : op A) (f g : A -> R) : (forall a, f a = g a) -> osum o f = osum o g.
Proof. intros H. apply osum_ext_in. auto. Qed.

Lemma osum_add (A : Type) (o : op A) (f g : A -> R) : osum o (fun a => f a + g a) = osum o f + osum o g.
Proof. unfold osum. rewrite rsum_add. ring. Qed.

Lemma osum_scale (A : Type) (o : op A) (c : R) (f : A -> R) : osum o (fun a => c * f a) = c * osum o f.
Proof. unfold osum. rewrite rsum_scale. ring. Qed.

Lemma osum_factor (A : Type) (o : op A) (c : A -> R) (e : R) : osum o (fun a => c a * e) = osum o c * e.
Proof. rewrite (@osum_ext A o (fun a => c a * e) (fun a => e * c a)); [rewrite osum_scale; ring|intros; ring]. Qed.

Lemma osum_zero (A : Type) (o : op A) : osum o (fun _ => 0) = 0.
Proof. unfold osum. rewrite rsum_const. ring. Qed.

Lemma osum_swap (A B : Type) (o : op A) (o' : op B) (f : A -> B -> R) :
  osum o (fun a => osum o' (fun b => f a b)) = osum o' (fun b => osum o (fun a => f a b)).
Proof.
  unfold osum.
  rewrite (rsum_scale (snd o) (fst o') (fun a => rsum (snd o') (fun b => f a b))).
  rewrite (rsum_scale (snd o') (fst o) (fun b => rsum (snd o) (fun a => f a b))).
  rewrite (rsum_swap (snd o) (snd o') f). ring.
Qed.

Lemma osum_nonneg (A : Type) (o : op A) (f : A -> R) :
  0 <= fst o -> (forall a, In a (snd o) -> 0 <= f a) -> 0 <= osum o f.
Proof. intros W H. unfold osum. apply Rmult_le_pos; [assumption|]. apply rsum_nonneg. assumption. Qed.

Lemma osum_null (A : Type) (o : op A) (f : A -> R) : (forall a, In a (snd o) -> f a = 0) -> osum o f = 0.
Proof. intros H. rewrite (@osum_ext_in _ _ _ (fun _ => 0)); [apply osum_zero|assumption]. Qed.

(** The sum over the steps 0, ..., K - 1, and the mean over a list. *)
Definition steps (K : nat) : op nat := (1, seq 0 K).
Definition mean (A : Type) (l : list A) : op A := (/ INR (length l), l).

Lemma length_pos (A : Type) (l : list A) : l <> [] -> 0 < INR (length l).
Proof. destruct l; [congruence|]. intros _. apply lt_0_INR. simpl. lia. Qed.

Lemma mean_weight (A : Type) (l : list A) : l <> [] -> 0 <= fst (mean l).
Proof. intros H. simpl. left. apply Rinv_0_lt_compat, length_pos, H. Qed.

Lemma mean_const (A : Type) (l : list A) (c : R) : l <> [] -> osum (mean l) (fun _ => c) = c.
Proof. intros H. unfold osum. simpl. rewrite rsum_const. field. apply Rgt_not_eq, length_pos, H. Qed.

Lemma steps_const (K : nat) (c : R) : osum (steps K) (fun _ => c) = INR K * c.
Proof. unfold osum. simpl. rewrite rsum_const, seq_length. ring. Qed.

Lemma steps_weight (K : nat) : 0 <= fst (steps K).
Proof. simpl. lra. Qed.

Lemma in_steps (K k : nat) : In k (snd (steps K)) -> (k < K)%nat.
Proof. simpl. rewrite in_seq. lia. Qed.

Lemma rsum_snoc (n : nat) (f : nat -> R) : rsum (seq 0 (S n)) f = rsum (seq 0 n) f + f n.
Proof.
  rewrite seq_S. simpl. generalize (seq 0 n) as l. intros l.
  induction l as [|a l IH]; simpl; [ring|]. rewrite IH. ring.
Qed.

Lemma steps_snoc (K : nat) (f : nat -> R) : osum (steps (S K)) f = osum (steps K) f + f K.
Proof. unfold osum. cbn [fst snd steps]. rewrite rsum_snoc. ring. Qed.

Lemma steps_by_induction (P : R -> R) (f : nat -> R) (K : nat) :
  P 0 = 0 -> (forall n, P (INR n + 1) = P (INR n) + f n) -> osum (steps K) f = P (INR K).
Proof.
  intros H0 H. induction K as [|K IH].
  - unfold osum. simpl. rewrite H0. ring.
  - rewrite steps_snoc, IH, S_INR, H. reflexivity.
Qed.

(** ** Signs, and equations entry by entry *)

Lemma le0 (x y : R) : 0 <= y -> x = y -> 0 <= x.
Proof. intros H ->. exact H. Qed.

Lemma lt0 (x y : R) : 0 < y -> x = y -> 0 < x.
Proof. intros H ->. exact H. Qed.

Lemma eq0 (x y : R) : y = 0 -> x = y -> x = 0.
Proof. intros H ->. exact H. Qed.

Lemma drop (a b e x y : R) : a = b -> x = y + (a - b) * e -> x = y.
Proof. intros -> ->. ring. Qed.

Lemma times_null (m x : R) : x = 0 -> m * x = 0.
Proof. intros ->. ring. Qed.

Lemma null_le (x : R) : x = 0 -> 0 <= x.
Proof. intros ->. lra. Qed.

Lemma plus_null (x y : R) : x = 0 -> y = 0 -> x + y = 0.
Proof. intros -> ->. ring. Qed.

Lemma difference_le (x b d : R) : 0 <= d -> d = b - x -> x <= b.
Proof. intros P E. rewrite E in P. lra. Qed.

Lemma difference_lt (x b d : R) : 0 < d -> d = b - x -> x < b.
Proof. intros P E. rewrite E in P. lra. Qed.

Lemma quotient_nonneg (a b : R) : 0 <= a -> 0 < b -> 0 <= a / b.
Proof. intros A B. apply Rmult_le_pos; [assumption|]. left. apply Rinv_0_lt_compat, B. Qed.

Lemma quotient_pos (a b : R) : 0 < a -> 0 < b -> 0 < a / b.
Proof. intros A B. apply Rmult_lt_0_compat; [assumption|]. apply Rinv_0_lt_compat, B. Qed.

Lemma chart_cap (x b : R) : 0 < x -> x <= b -> exists u, 0 <= u /\ x = b / (1 + u).
Proof.
  intros P H. exists (b / x - 1). split.
  - assert (1 <= b / x); [|lra]. apply (Rmult_le_reg_r x); [assumption|].
    replace (b / x * x) with b by (field; lra). lra.
  - field. split; lra.
Qed.

Lemma chart_interval (x b : R) :
  0 < b -> 0 <= x -> x <= b -> exists s t, 0 <= s /\ 0 <= t /\ t = 1 - s /\ x = b * s.
Proof.
  intros P L U. exists (x / b), (1 - x / b). split; [apply quotient_nonneg; assumption|].
  split; [|split; [reflexivity|field; lra]].
  assert (x / b <= 1); [|lra]. apply (Rmult_le_reg_r b); [assumption|].
  replace (x / b * b) with x by (field; lra). lra.
Qed.

Lemma chart_floor (x b : R) : b <= x -> exists s, 0 <= s /\ x = b + s.
Proof. intros H. exists (x - b). split; lra. Qed.

Lemma interval_case (s t : R) : 0 <= s -> 0 <= t -> t = 1 - s -> 0 < s \/ 0 < t.
Proof. intros A B E. destruct A as [A|A]; [left; exact A|]. right. lra. Qed.

Lemma step_below (k K : nat) : (k < K)%nat -> INR k <= INR K - 1.
Proof. intros H. apply (le_INR (S k) K) in H. rewrite S_INR in H. lra. Qed.

(** ** Vectors *)

Section Round.

(** Random vectors, clients, and <u, v> = E[u . v | start, cohort]; the empty cohort is that of a server's round. *)
Variables V C : Type.
Variable vzero : V.
Variable vadd : V -> V -> V.
Variable vscale : R -> V -> V.
Variable ip : list C -> V -> V -> R.
Hypothesis ip_zero : forall S w, ip S vzero w = 0.
Hypothesis ip_add : forall S u v w, ip S (vadd u v) w = ip S u w + ip S v w.
Hypothesis ip_scale : forall S a u w, ip S (vscale a u) w = a * ip S u w.
Hypothesis ip_sym : forall S u v, ip S u v = ip S v u.
Hypothesis ip_pos : forall S u, 0 <= ip S u u.

Lemma ip_add_r S u v w : ip S u (vadd v w) = ip S u v + ip S u w.
Proof. rewrite (ip_sym S u (vadd v w)), ip_add, (ip_sym S v u), (ip_sym S w u). reflexivity. Qed.

Lemma ip_scale_r S a u v : ip S u (vscale a v) = a * ip S u v.
Proof. rewrite (ip_sym S u (vscale a v)), ip_scale, (ip_sym S v u). reflexivity. Qed.

Definition vsub (u v : V) : V := vadd u (vscale (-1) v).

Fixpoint vsum (A : Type) (l : list A) (f : A -> V) : V :=
  match l with [] => vzero | a :: r => vadd (f a) (vsum r f) end.

Definition osumv (A : Type) (o : op A) (f : A -> V) : V := vscale (fst o) (vsum (snd o) f).

Lemma ip_osum_l (A : Type) (o : op A) S (f : A -> V) w : ip S (osumv o f) w = osum o (fun a => ip S (f a) w).
Proof.
  unfold osumv, osum. rewrite ip_scale. f_equal. induction (snd o) as [|a l IH]; simpl.
  - apply ip_zero.
  - rewrite ip_add, IH. reflexivity.
Qed.

Lemma ip_osum_r (A : Type) (o : op A) S (f : A -> V) w : ip S w (osumv o f) = osum o (fun a => ip S w (f a)).
Proof. rewrite ip_sym, ip_osum_l. apply osum_ext. intros. apply ip_sym. Qed.

(** Families of vectors over cohorts, clients and steps, and bilinear forms of them. *)
Definition fam := list C -> C -> nat -> V.

Fixpoint fcomb (l : list (R * fam)) : fam :=
  match l with
  | [] => fun _ _ _ => vzero
  | p :: r => fun S i k => vadd (vscale (fst p) (snd p S i k)) (fcomb r S i k)
  end.

Record bilinear (B : fam -> fam -> R) : Prop := {
  b_zero : forall w, B (fun _ _ _ => vzero) w = 0;
  b_add : forall u v w, B (fun S i k => vadd (u S i k) (v S i k)) w = B u w + B v w;
  b_scale : forall a u w, B (fun S i k => vscale a (u S i k)) w = a * B u w;
  b_sym : forall u w, B u w = B w u;
  b_pos : forall u, 0 <= B u u
}.

Definition bil (B : fam -> fam -> R) (l l' : list (R * fam)) : R :=
  rsum l (fun p => rsum l' (fun p' => fst p * fst p' * B (snd p) (snd p'))).

Lemma bil_left B (HB : bilinear B) l w : B (fcomb l) w = rsum l (fun p => fst p * B (snd p) w).
Proof.
  induction l as [|p l IH]; simpl; [apply (b_zero HB)|].
  rewrite (b_add HB (fun S i k => vscale (fst p) (snd p S i k))), (b_scale HB), IH. reflexivity.
Qed.

Lemma bil_comb B (HB : bilinear B) l l' : B (fcomb l) (fcomb l') = bil B l l'.
Proof.
  rewrite (bil_left HB). unfold bil. apply rsum_ext. intros p _.
  rewrite (b_sym HB), (bil_left HB), <- rsum_scale. apply rsum_ext. intros p' _.
  rewrite (b_sym HB (snd p')). ring.
Qed.

Lemma square_nonneg B (HB : bilinear B) l : 0 <= bil B l l.
Proof. rewrite <- (bil_comb HB). apply (b_pos HB). Qed.

Definition B_ S i k (u w : fam) : R := ip S (u S i k) (w S i k).

Lemma bilinear_one S i k : bilinear (B_ S i k).
Proof.
  unfold B_. split; intros.
  - apply ip_zero.
  - apply ip_add.
  - apply ip_scale.
  - apply ip_sym.
  - apply ip_pos.
Qed.

Lemma bilinear_sum (A : Type) (o : op A) (B : A -> fam -> fam -> R) :
  0 <= fst o -> (forall a, bilinear (B a)) -> bilinear (fun u w => osum o (fun a => B a u w)).
Proof.
  intros W H. split; intros.
  - apply osum_null. intros. apply (b_zero (H a)).
  - rewrite <- osum_add. apply osum_ext. intros. apply (b_add (H a)).
  - rewrite <- osum_scale. apply osum_ext. intros. apply (b_scale (H a0)).
  - apply osum_ext. intros. apply (b_sym (H a)).
  - apply osum_nonneg; [assumption|]. intros. apply (b_pos (H a)).
Qed.

(** Expectations over cohorts. *)
Record expectation (E : (list C -> R) -> R) : Prop := {
  e_add : forall f g, E (fun S => f S + g S) = E f + E g;
  e_scale : forall a f, E (fun S => a * f S) = a * E f;
  e_const : forall a, E (fun _ => a) = a;
  e_pos : forall f, (forall S, 0 <= f S) -> 0 <= E f
}.

Lemma e_ext E (HE : expectation E) f g : (forall S, f S = g S) -> E f = E g.
Proof.
  intros H.
  assert (Z : forall h h', (forall S, h S = h' S) -> 0 <= E h - E h').
  { intros h h' K. replace (E h - E h') with (E (fun S => h S + -1 * h' S)).
    - apply (e_pos HE). intros. rewrite K. lra.
    - rewrite (e_add HE h (fun S => -1 * h' S)), (e_scale HE). ring. }
  pose proof (Z f g H). pose proof (Z g f (fun S => eq_sym (H S))). lra.
Qed.

Lemma bilinear_exp E (HE : expectation E) (B : list C -> fam -> fam -> R) :
  (forall S, bilinear (B S)) -> bilinear (fun u w => E (fun S => B S u w)).
Proof.
  intros H. split; intros.
  - rewrite <- (e_const HE 0). apply (e_ext HE). intros. apply (b_zero (H S)).
  - rewrite <- (e_add HE). apply (e_ext HE). intros. apply (b_add (H S)).
  - rewrite <- (e_scale HE). apply (e_ext HE). intros. apply (b_scale (H S)).
  - apply (e_ext HE). intros. apply (b_sym (H S)).
  - apply (e_pos HE). intros. apply (b_pos (H S)).
Qed.

(** ** The federation, and a round of an algorithm *)

Variable K : nat.
Variable i0 : C.
Variable clients : list C.
Hypothesis some_client : clients <> [].
Variable drawn : list C -> Prop.
Hypothesis drawn_some : forall S, drawn S -> S <> [].

Variable grad : C -> V -> V.
Variable val : list C -> C -> V -> R.
Variables x xs : V.
Variable X : C -> nat -> V.
Variable N : C -> nat -> V.
Variable xp : list C -> V.
Variable Ns : V.
Inductive kind := uniform | arbitrary | server.
Variable cm : kind -> (C -> V) -> V.

Definition G i k := grad i (X i k).
Definition g_start i := grad i x.
Definition g_opt i := grad i xs.

Inductive start : V -> Prop :=
  | start_x : start x
  | start_xs : start xs
  | start_g i : start (g_start i)
  | start_o i : start (g_opt i)
  | start_cm ki g : (forall i, start (g i)) -> start (cm ki g).

Inductive before (k : nat) : V -> Prop :=
  | before_start u : start u -> before k u
  | before_X j l : (l <= k)%nat -> before k (X j l)
  | before_G j l : (l <= k)%nat -> before k (G j l)
  | before_N j l : (l < k)%nat -> before k (N j l).

(** What is known at the start does not depend on the cohort. *)
Hypothesis known : forall S u v, start u -> start v -> ip S u v = ip [] u v.
Hypothesis known_val : forall S i u, start u -> val S i u = val [] i u.

(** x* is a point at which the gradient of F is 0. *)
Hypothesis optimum : forall S w, osum (mean clients) (fun i => ip S (g_opt i) w) = 0.

(** The expectations given the start, and given the start and the kind of round. *)
Variables Eu Ea Es : (list C -> R) -> R.
Hypothesis Eu_exp : expectation Eu.
Hypothesis Ea_exp : expectation Ea.
Hypothesis Es_exp : expectation Es.
Definition given (ki : kind) (f : list C -> R) : R :=
  match ki with uniform => Eu f | arbitrary => Ea f | server => f [] end.

Lemma given_exp ki : expectation (given ki).
Proof.
  destruct ki; [exact Eu_exp|exact Ea_exp|]. split; intros; simpl; auto.
Qed.

(** cm is the mean over the cohort's clients, given the start and the kind of round. *)
Hypothesis conditional_mean : forall ki g w, (forall i, start (g i)) -> start w ->
  given ki (fun S => osum (mean S) (fun i => ip [] (g i) w)) = ip [] (cm ki g) w.

(** *** Assumptions *)

Definition smooth (L : R) : Prop :=
  (forall S i p q, ip S (vsub (grad i p) (grad i q)) (vsub (grad i p) (grad i q)) <= L ^ 2 * ip S (vsub p q) (vsub p q))
  /\ (forall S i p q, val S i p <= val S i q + ip S (grad i q) (vsub p q) + L / 2 * ip S (vsub p q) (vsub p q)).

Definition strongly_convex (mu : R) : Prop :=
  forall S i p q, val S i q + ip S (grad i q) (vsub p q) + mu / 2 * ip S (vsub p q) (vsub p q) <= val S i p.

Definition far_from_mean (g : C -> V) (i : C) : R :=
  ip [] (vsub (g i) (osumv (mean clients) g)) (vsub (g i) (osumv (mean clients) g)).
Definition bounded_dissimilarity (s : R) : Prop := forall i, far_from_mean g_start i <= s.
Definition bounded_dissimilarity_at_optimum (s : R) : Prop := forall i, far_from_mean g_opt i <= s.

Definition unbiased_noise : Prop := forall S i k w, drawn S -> before k w -> ip S (N i k) w = 0.
Definition bounded_noise (s : R) : Prop := forall S i k, drawn S -> ip S (N i k) (N i k) <= s.
Definition uncorrelated_noise : Prop := forall S i j k, drawn S -> i <> j -> ip S (N i k) (N j k) = 0.
Definition cohort_is_a_set : Prop := forall S, drawn S -> NoDup S.

Definition sized (ki : kind) (m : R) : Prop :=
  forall f, (forall S, drawn S -> INR (length S) = m -> 0 <= f S) -> 0 <= given ki f.
Definition uniform_cohorts (share : R) : Prop :=
  (forall f, Eu (fun S => osum (mean S) f) = osum (mean clients) f)
  /\ (forall f, Eu (fun S => osum (mean S) (fun i => osum (mean S) (fun j => f i j)))
      = share * osum (mean clients) (fun i => f i i)
        + (1 - share) * osum (mean clients) (fun i => osum (mean clients) (fun j => f i j))).
Definition random_kinds (q : R) : Prop := forall f, Es f = q * given uniform f + (1 - q) * given arbitrary f.
Definition random_client_rounds (q : R) : Prop := forall f, Es f = (1 - q) * given server f + q * given arbitrary f.

Definition local_lr (eta : R) : Prop :=
  (forall i, X i 0 = x)
  /\ (forall i k, X i (S k) = vadd (X i k) (vscale (- eta) (vadd (G i k) (N i k))))
  /\ (forall S, drawn S -> xp S = osumv (mean S) (fun i => X i K)).
Definition server_lr (eta : R) : Prop :=
  xp [] = vadd x (vscale (- eta) (vadd (osumv (mean clients) g_start) Ns)).
Definition unbiased_server_noise : Prop := forall w, start w -> ip [] Ns w = 0.
Definition bounded_server_noise (s : R) : Prop := ip [] Ns Ns <= s.

(** *** The axioms of the kernel, from these definitions *)

Ltac expand := unfold vsub; rewrite ?ip_add, ?ip_scale, ?ip_add_r, ?ip_scale_r; repeat rewrite ?ip_add, ?ip_scale, ?ip_add_r, ?ip_scale_r.

Lemma ip_sub S p q r s : ip S (vsub p q) (vsub r s) = ip S p r - ip S p s - ip S q r + ip S q s.
Proof. expand. ring. Qed.

Lemma smooth_points L S i p q : smooth L ->
  0 <= L ^ 2 * (ip S p p - 2 * ip S p q + ip S q q)
       - (ip S (grad i p) (grad i p) - 2 * ip S (grad i p) (grad i q) + ip S (grad i q) (grad i q)).
Proof.
  intros [H _]. specialize (H S i p q). rewrite !ip_sub in H.
  rewrite (ip_sym S q p), (ip_sym S (grad i q) (grad i p)) in H. lra.
Qed.

Lemma descent_points L S i p q : smooth L ->
  0 <= val S i q - val S i p + (ip S (grad i q) p - ip S (grad i q) q)
       + L / 2 * (ip S p p - 2 * ip S p q + ip S q q).
Proof.
  intros [_ H]. specialize (H S i p q). revert H. expand. rewrite (ip_sym S q p). intros H. lra.
Qed.

Lemma convex_points mu S i p q : strongly_convex mu ->
  0 <= val S i p - val S i q - (ip S (grad i q) p - ip S (grad i q) q)
       - mu / 2 * (ip S p p - 2 * ip S p q + ip S q q).
Proof.
  intros H. specialize (H S i p q). revert H. expand. rewrite (ip_sym S q p). intros H. lra.
Qed.

Lemma interpolated_points mu L S i p q : smooth L -> strongly_convex mu ->
  0 <= 2 * (L - mu) * (val S i p - val S i q - (ip S (grad i q) p - ip S (grad i q) q))
       - (ip S (grad i p) (grad i p) - 2 * ip S (grad i p) (grad i q) + ip S (grad i q) (grad i q))
       - mu * L * (ip S p p - 2 * ip S p q + ip S q q)
       + 2 * mu * (ip S (grad i p) p - ip S (grad i p) q - ip S (grad i q) p + ip S (grad i q) q).
Proof.
  intros HL Hmu.
  pose (h t := vadd p (vscale (- t) (vadd (vsub (grad i p) (grad i q)) (vscale (- mu) (vsub p q))))).
  assert (D : forall t, 0 <= val S i p - val S i (h t) + (ip S (grad i p) (h t) - ip S (grad i p) p)
       + L / 2 * (ip S (h t) (h t) - 2 * ip S (h t) p + ip S p p)) by (intros; apply descent_points, HL).
  assert (F : forall t, 0 <= val S i (h t) - val S i q - (ip S (grad i q) (h t) - ip S (grad i q) q)
       - mu / 2 * (ip S (h t) (h t) - 2 * ip S (h t) q + ip S q q)) by (intros; apply convex_points, Hmu).
  pose proof (descent_points S i q p HL) as D'. pose proof (convex_points S i q p Hmu) as F'.
  pose proof (descent_points S i p q HL) as D''. pose proof (convex_points S i p q Hmu) as F''.
  pose proof (smooth_points S i p q HL) as Z.
  pose proof (ip_pos S (vsub p q)) as P.
  pose proof (ip_pos S (vadd (vsub p q) (vsub (grad i p) (grad i q)))) as P1.
  pose proof (ip_pos S (vsub (vsub p q) (vsub (grad i p) (grad i q)))) as P2.
  unfold h in D, F. clear h.
  assert (E : forall t, 0 <= 2 * (val S i p - val S i q - (ip S (grad i q) p - ip S (grad i q) q))
    - mu * (ip S p p - 2 * ip S p q + ip S q q) - (2 * t - (L - mu) * t ^ 2) *
    ((ip S (grad i p) (grad i p) - 2 * ip S (grad i p) (grad i q) + ip S (grad i q) (grad i q))
    - 2 * mu * (ip S (grad i p) p - ip S (grad i p) q - ip S (grad i q) p + ip S (grad i q) q)
    + mu ^ 2 * (ip S p p - 2 * ip S p q + ip S q q))).
  { intros t. specialize (D t). specialize (F t). clear - D F ip_add ip_scale ip_sym. revert D F. expand.
    rewrite (ip_sym S q p), (ip_sym S (grad i q) (grad i p)), (ip_sym S p (grad i p)), (ip_sym S p (grad i q)),
      (ip_sym S q (grad i p)), (ip_sym S q (grad i q)).
    intros D F. apply (Rle_trans _ _ _ (Rmult_le_pos 2 _ ltac:(lra) (Rplus_le_le_0_compat _ _ D F))). right. field. }
  clear D F. revert D' F' D'' F'' Z P P1 P2 E. expand.
  rewrite (ip_sym S q p), (ip_sym S (grad i q) (grad i p)), (ip_sym S p (grad i p)), (ip_sym S p (grad i q)),
      (ip_sym S q (grad i p)), (ip_sym S q (grad i q)).
  intros D' F' D'' F'' Z P P1 P2 E. clear HL Hmu.
  destruct (total_order_T mu L) as [[Lt|Eq]|Gt].
  - apply (Rle_trans _ _ _ (Rmult_le_pos (L - mu) _ ltac:(lra) (E (/ (L - mu))))). right. field. lra.
  - subst mu. specialize (E 1). lra.
  - assert (T : ip S p p - 2 * ip S p q + ip S q q = 0).
    { apply Rle_antisym; [|lra]. apply (Rmult_le_reg_l (mu - L)); lra. }
    rewrite T in D'', F'', Z.
    assert (W : ip S (grad i p) p - ip S (grad i p) q - ip S (grad i q) p + ip S (grad i q) q = 0) by lra.
    assert (A : val S i p - val S i q - (ip S (grad i q) p - ip S (grad i q) q) = 0) by lra.
    rewrite T, W, A. lra.
Qed.

Lemma cocoercive_points mu L S i p q : smooth L -> strongly_convex mu ->
  0 <= (mu + L) * (ip S (grad i p) p - ip S (grad i p) q - ip S (grad i q) p + ip S (grad i q) q)
       - mu * L * (ip S p p - 2 * ip S p q + ip S q q)
       - (ip S (grad i p) (grad i p) - 2 * ip S (grad i p) (grad i q) + ip S (grad i q) (grad i q)).
Proof.
  intros HL Hmu.
  pose proof (interpolated_points S i p q HL Hmu) as A. pose proof (interpolated_points S i q p HL Hmu) as B.
  rewrite (ip_sym S q p), (ip_sym S (grad i q) (grad i p)) in B. lra.
Qed.

(** The axioms that pair with a vector w, for a vector known at the start, or for any vector. *)

Lemma unbiased_start S i k w : unbiased_noise -> drawn S -> start w -> ip S (N i k) w = 0.
Proof. intros H D W. apply H; [assumption|]. apply before_start, W. Qed.

Lemma known_sum (A : Type) (o : op A) S f w : (forall a, start (f a)) -> start w ->
  osum o (fun a => ip S (f a) w) = osum o (fun a => ip [] (f a) w).
Proof. intros H W. apply osum_ext. intros a. apply known; auto. Qed.

Lemma mean_product S (u : C -> V) :
  ip S (osumv (mean S) u) (osumv (mean S) u) = osum (mean S) (fun i => osum (mean S) (fun j => ip S (u i) (u j))).
Proof. rewrite ip_osum_l. apply osum_ext. intros. apply ip_osum_r. Qed.

Lemma rsum_diagonal (A : Type) (l : list A) (f : A -> A -> R) :
  NoDup l -> (forall a b, a <> b -> f a b = 0) -> rsum l (fun a => rsum l (fun b => f a b)) = rsum l (fun a => f a a).
Proof.
  intros D Z. apply rsum_ext. intros a I. induction l as [|b l IH]; [contradiction|].
  inversion D; subst. simpl. destruct I as [->|I].
  - rewrite (@rsum_ext _ l (fun b => f a b) (fun _ => 0)), rsum_const; [ring|].
    intros c J. apply Z. intros ->. contradiction.
  - rewrite IH, (Z a b); [ring| |assumption|assumption]. intros ->. contradiction.
Qed.

Lemma uncorrelated_mean S k : uncorrelated_noise -> cohort_is_a_set -> drawn S ->
  osum (mean S) (fun i => osum (mean S) (fun j => ip S (N i k) (N j k)))
  = / INR (length S) * osum (mean S) (fun i => ip S (N i k) (N i k)).
Proof.
  intros H D I. unfold osum. simpl fst. simpl snd. rewrite rsum_scale. f_equal. f_equal.
  rewrite (@rsum_diagonal _ S (fun i j => ip S (N i k) (N j k))); auto.
Qed.

Lemma triangle (K' : nat) (f : nat -> nat -> R) : (forall l k, (l < k)%nat -> f k l = 0) ->
  (forall l k, f k l = f l k) ->
  osum (steps K') (fun k => osum (steps K') (fun l => f k l)) = osum (steps K') (fun k => f k k).
Proof.
  intros Z Y. induction K' as [|n IH].
  - unfold osum. simpl. ring.
  - rewrite steps_snoc, (@osum_ext _ _ _ (fun k => osum (steps n) (fun l => f k l) + f k n)).
    2: { intros. apply steps_snoc. }
    rewrite osum_add, IH, !steps_snoc.
    rewrite (@osum_null _ (steps n) (fun k => f k n)).
    2: { intros k I. apply in_steps in I. rewrite Y. apply Z, I. }
    rewrite (@osum_null _ (steps n) (fun l => f n l)).
    2: { intros k I. apply in_steps in I. apply Z, I. }
    ring.
Qed.

Lemma noise_apart S k l : unbiased_noise -> drawn S -> (l < k)%nat ->
  osum (mean S) (fun i => osum (mean S) (fun j => ip S (N i k) (N j l))) = 0.
Proof.
  intros H D I. apply osum_null. intros i _. apply osum_null. intros j _.
  apply H; [assumption|]. apply before_N, I.
Qed.

Lemma steps_apart_mean S : unbiased_noise -> drawn S ->
  osum (steps K) (fun k => osum (steps K) (fun l =>
    osum (mean S) (fun i => osum (mean S) (fun j => ip S (N i k) (N j l)))))
  = osum (steps K) (fun k => osum (mean S) (fun i => osum (mean S) (fun j => ip S (N i k) (N j k)))).
Proof.
  intros H D.
  apply (@triangle K (fun k l => osum (mean S) (fun i => osum (mean S) (fun j => ip S (N i k) (N j l))))).
  - intros l k I. apply noise_apart; assumption.
  - intros l k. rewrite osum_swap. apply osum_ext. intros i. apply osum_ext. intros j. apply ip_sym.
Qed.

Lemma local_step_paired eta S i k w : local_lr eta ->
  ip S (X i (1 + k)) w - ip S (X i k) w + eta * (ip S (G i k) w + ip S (N i k) w) = 0.
Proof. intros (_ & H & _). simpl. rewrite H. expand. ring. Qed.

Lemma last_iterate eta S i w n : local_lr eta ->
  ip S (X i n) w = ip S x w - eta * osum (steps n) (fun k => ip S (G i k) w + ip S (N i k) w).
Proof.
  intros H. induction n as [|n IH].
  - destruct H as (H & _). rewrite H. unfold osum. simpl. ring.
  - rewrite steps_snoc. pose proof (local_step_paired S i n w H) as E. simpl in E. rewrite IH in E. lra.
Qed.

Lemma round_paired eta S w : local_lr eta -> drawn S ->
  ip S (xp S) w - ip S x w
  + eta * (osum (steps K) (fun k => osum (mean S) (fun i => ip S (G i k) w))
           + osum (steps K) (fun k => osum (mean S) (fun i => ip S (N i k) w))) = 0.
Proof.
  intros H D. pose proof H as (_ & _ & E). rewrite (E S D), ip_osum_l.
  rewrite (@osum_ext _ _ _ (fun i => ip S x w + - eta * osum (steps K) (fun k => ip S (G i k) w + ip S (N i k) w))).
  2: { intros i. rewrite (last_iterate S i w K H). ring. }
  rewrite osum_add, mean_const, osum_scale, osum_swap by (apply drawn_some, D).
  rewrite (@osum_ext _ (steps K) (fun b => osum (mean S) (fun a => ip S (G a b) w + ip S (N a b) w))
    (fun k => osum (mean S) (fun i => ip S (G i k) w) + osum (mean S) (fun i => ip S (N i k) w))).
  2: { intros. apply osum_add. }
  rewrite osum_add. ring.
Qed.

Lemma server_round_paired eta w : server_lr eta ->
  ip [] (xp []) w - ip [] x w + eta * (osum (mean clients) (fun i => ip [] (g_start i) w) + ip [] Ns w) = 0.
Proof. intros H. rewrite H. expand. rewrite ip_osum_l. ring. Qed.

Lemma round_paired' eta S w : local_lr eta -> drawn S ->
  ip S (xp S) w - ip S x w
  + eta * (ip S (osumv (steps K) (fun k => osumv (mean S) (fun i => G i k))) w
           + ip S (osumv (steps K) (fun k => osumv (mean S) (fun i => N i k))) w) = 0.
Proof.
  intros H D. rewrite <- (round_paired w H D) at 1. rewrite !ip_osum_l.
  do 2 f_equal. f_equal; apply osum_ext; intros; apply ip_osum_l.
Qed.

Lemma server_round_paired' eta w : server_lr eta ->
  ip [] (xp []) w - ip [] x w + eta * (ip [] (osumv (mean clients) g_start) w + ip [] Ns w) = 0.
Proof. intros H. rewrite ip_osum_l. apply server_round_paired, H. Qed.

Lemma optimum_paired w : ip [] (osumv (mean clients) g_opt) w = 0.
Proof. rewrite ip_osum_l. apply optimum. Qed.

Lemma far_points g i s : far_from_mean g i <= s ->
  0 <= s - (ip [] (g i) (g i) - 2 * ip [] (g i) (osumv (mean clients) g)
            + ip [] (osumv (mean clients) g) (osumv (mean clients) g)).
Proof. unfold far_from_mean. rewrite ip_sub, (ip_sym [] (osumv (mean clients) g) (g i)). lra. Qed.

Lemma variance_points s S i k : bounded_noise s -> drawn S -> 0 <= s - ip S (N i k) (N i k).
Proof. intros H D. pose proof (H S i k D). lra. Qed.

Lemma server_variance_points s : bounded_server_noise s -> 0 <= s - ip [] Ns Ns.
Proof. unfold bounded_server_noise. lra. Qed.

Lemma e_osum E (HE : expectation E) (A : Type) (o : op A) (f : list C -> A -> R) :
  E (fun S => osum o (fun a => f S a)) = osum o (fun a => E (fun S => f S a)).
Proof.
  unfold osum. rewrite (e_scale HE (fst o) (fun S => rsum (snd o) (fun a => f S a))). f_equal.
  induction (snd o) as [|a l IH]; simpl; [apply (e_const HE)|].
  rewrite (e_add HE (fun S => f S a) (fun S => rsum l (fun b => f S b))), IH. reflexivity.
Qed.

Lemma conditional_mean_M ki g h : (forall i, start (g i)) -> (forall i, start (h i)) ->
  given ki (fun S => osum (mean S) (fun i => osum (mean clients) (fun j => ip [] (g i) (h j))))
  = osum (mean clients) (fun j => ip [] (cm ki g) (h j)).
Proof.
  intros Hg Hh.
  rewrite (e_ext (given_exp ki) (g := fun S => osum (mean clients) (fun j => osum (mean S) (fun i => ip [] (g i) (h j))))).
  2: { intros S. apply osum_swap. }
  rewrite (e_osum (given_exp ki)). apply osum_ext. intros j. apply conditional_mean; auto.
Qed.

Lemma sized_null ki m f : sized ki m ->
  (forall S, drawn S -> INR (length S) = m -> f S = 0) -> given ki f = 0.
Proof.
  intros H Z. apply Rle_antisym.
  - assert (P : 0 <= given ki (fun S => -1 * f S)).
    { apply H. intros S D L. rewrite (Z S D L). lra. }
    rewrite (e_scale (given_exp ki)) in P. lra.
  - apply H. intros S D L. rewrite (Z S D L). lra.
Qed.

(** Bilinear forms below binders, and in expectation. *)

Definition B_K S i (u w : fam) : R := osum (steps K) (fun k => B_ S i k u w).
Definition B_M S k (u w : fam) : R := osum (mean clients) (fun i => B_ S i k u w).
Definition B_S S k (u w : fam) : R := osum (mean S) (fun i => B_ S i k u w).
Definition B_KM S (u w : fam) : R := osum (steps K) (fun k => B_M S k u w).
Definition B_KS S (u w : fam) : R := osum (steps K) (fun k => B_S S k u w).
Definition B_E (E : (list C -> R) -> R) i k (u w : fam) : R := E (fun S => B_ S i k u w).

Lemma bilinear_K S i : bilinear (B_K S i).
Proof. apply bilinear_sum with (B := fun k => B_ S i k); [apply steps_weight|]. intros. apply bilinear_one. Qed.
Lemma bilinear_M S k : bilinear (B_M S k).
Proof. apply bilinear_sum with (B := fun i => B_ S i k); [apply mean_weight, some_client|]. intros. apply bilinear_one. Qed.
Lemma bilinear_S S k (D : drawn S) : bilinear (B_S S k).
Proof. apply bilinear_sum with (B := fun i => B_ S i k); [apply mean_weight, drawn_some, D|]. intros. apply bilinear_one. Qed.
Lemma bilinear_KM S : bilinear (B_KM S).
Proof. apply bilinear_sum with (B := fun k => B_M S k); [apply steps_weight|]. intros. apply bilinear_M. Qed.
Lemma bilinear_KS S (D : drawn S) : bilinear (B_KS S).
Proof. apply bilinear_sum with (B := fun k => B_S S k); [apply steps_weight|]. intros. apply bilinear_S, D. Qed.
Lemma bilinear_E E (HE : expectation E) i k : bilinear (B_E E i k).
Proof. apply bilinear_exp with (B := fun S => B_ S i k); [exact HE|]. intros. apply bilinear_one. Qed.

(** *** From one round to many *)

Lemma next_distance :
  Es (fun S => ip S (vsub (xp S) xs) (vsub (xp S) xs))
  = Es (fun S => ip S (xp S) (xp S)) + -2 * Es (fun S => ip S xs (xp S)) + ip [] xs xs.
Proof.
  rewrite (e_ext Es_exp (g := fun S => ip S (xp S) (xp S) + -2 * ip S xs (xp S) + ip [] xs xs)).
  - rewrite (e_add Es_exp (fun S => ip S (xp S) (xp S) + -2 * ip S xs (xp S)) (fun _ => ip [] xs xs)).
    rewrite (e_add Es_exp (fun S => ip S (xp S) (xp S)) (fun S => -2 * ip S xs (xp S))).
    rewrite (e_scale Es_exp), (e_const Es_exp). reflexivity.
  - intros S. rewrite ip_sub, (ip_sym S (xp S) xs), (known S start_xs start_xs). ring.
Qed.

Lemma start_distance : ip [] (vsub x xs) (vsub x xs) = ip [] x x - 2 * ip [] x xs + ip [] xs xs.
Proof. rewrite ip_sub, (ip_sym [] xs x). ring. Qed.

Lemma mean_squared (g : C -> V) :
  ip [] (osumv (mean clients) g) (osumv (mean clients) g)
  = osum (mean clients) (fun i => osum (mean clients) (fun j => ip [] (g i) (g j))).
Proof. rewrite ip_osum_l. apply osum_ext. intros. apply ip_osum_r. Qed.

Lemma contraction (P B : R) (A : nat -> R) : 0 <= P -> P < 1 -> 0 <= B ->
  (forall r, A (Datatypes.S r) <= P * A r + B) -> forall r, A r <= P ^ r * A 0%nat + B / (1 - P).
Proof.
  intros HP HP1 HB H r.
  assert (Q : 0 <= B / (1 - P)) by (apply quotient_nonneg; lra).
  induction r as [|r IH]; simpl; [lra|].
  apply (Rle_trans _ _ _ (H r)). apply (Rmult_le_compat_l P) in IH; [|exact HP].
  replace (P * P ^ r * A 0%nat + B / (1 - P)) with (P * (P ^ r * A 0%nat + B / (1 - P)) + B) by (field; lra). lra.
Qed.

Lemma descent_mean (c B low : R) (D G' : nat -> R) : 0 < c -> (forall r, low <= D r) ->
  (forall r, D (Datatypes.S r) <= D r - c * G' r + B) ->
  forall r, (0 < r)%nat -> osum (mean (seq 0 r)) G' <= (D 0%nat - low) / (c * INR r) + B / c.
Proof.
  intros Hc L H r Hr. pose proof (lt_0_INR r Hr) as P.
  assert (T : c * rsum (seq 0 r) G' <= D 0%nat - D r + INR r * B).
  { clear Hr P. induction r as [|r IH]; [simpl; lra|].
    rewrite rsum_snoc, S_INR. pose proof (H r). lra. }
  unfold osum. cbn [fst snd mean]. rewrite seq_length.
  apply (Rmult_le_reg_l (c * INR r)); [apply Rmult_lt_0_compat; assumption|].
  replace (c * INR r * (/ INR r * rsum (seq 0 r) G')) with (c * rsum (seq 0 r) G') by (field; lra).
  replace (c * INR r * ((D 0%nat - low) / (c * INR r) + B / c)) with (D 0%nat - low + INR r * B) by (field; lra).
  pose proof (L r). lra.
Qed.

(** *** Tactics: a rewriting below so many sums; a sum of products of numbers >= 0 *)

Tactic Notation "below" integer(n) tactic3(t) :=
  etransitivity; [do n (apply osum_ext; intro); t | cbv beta].

Ltac nonneg :=
  repeat match goal with
  | |- 0 <= IZR _ => apply IZR_le; discriminate
  | |- 0 <= _ + _ => apply Rplus_le_le_0_compat
  | |- 0 <= _ * _ => apply Rmult_le_pos
  | |- 0 <= _ ^ _ => apply pow_le
  | |- _ => first [assumption | apply Rlt_le; assumption]
  end.
Ltac pos :=
  repeat match goal with
  | |- 0 < IZR _ => apply IZR_lt; reflexivity
  | |- 0 < _ + _ => apply Rplus_lt_le_0_compat; [|solve [nonneg]]
  | |- 0 < _ * _ => apply Rmult_lt_0_compat
  | |- 0 < _ ^ _ => apply pow_lt
  | |- _ => assumption
  end.
Ltac nonzero :=
  repeat split; first
  [ assumption
  | apply not_eq_sym, Rlt_not_eq; solve [pos]
  | match goal with H : _ <> 0 |- _ <> 0 => let Z := fresh in intro Z; apply H; solve [lra] end ].
