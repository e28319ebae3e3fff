"""Errata of FLICS-OPT."""

from ..in_print import Erratum

ERRATA = (
    Erratum(
        claims=("flics.thm1@main", "flics.thm1@appendix"),
        printed=(
            r"\min_{t\in[T]}\mathbb{E}\Big[\|\nabla f(\overline{\mathbf{w}}^t)\|^2\Big]\le\frac{f(\overline{"
            r"\mathbf{w}}^0)-"
            r"f(\mathbf{w}^*)}{c\eta\eta_LT_LT}+C",
            r"C=\frac{1}{c\hat{\epsilon}}\Big[\frac{L\eta\eta_L\hat{\epsilon}^2\sigma_L^2(\sum_ip_i^2)}{2}+\frac{5L^2"
            r"\hat{\epsilon}\eta_L^2T_LM(\sum_ip_i^2)}{2}(\sigma_L^2+6T_L\sigma_G^2)+\frac{L\eta\eta_L}{2t_L}("
            r"\sigma_L^2+G^2)"
            r"\sum_{t=1}^T\sum_{i,j=1}^M\frac{p_ip_j}{\hat{s}_i(t)\hat{s}_j(t)}\Sigma_{ij}\Big]",
            r"\hat{\epsilon}=1+\epsilon/r_{\min},\quad \sigma_T(\mathbf{r}(1:T)):=\frac1T\sum_{t=1}^T\sum_{i,j=1}^M"
            r"\frac{p_ip_j}{\hat{s}_i(t)\hat{s}_j(t)}\Sigma_{ij}",
        ),
        wrong=(
            "The term of the selection lacks a factor $K^2$, which Lemma 7 loses: a client sends the sum of $K$ local "
            "gradients, and the square of that sum is bounded as if it were one gradient. (The theorem writes $T_L$ "
            "for "
            "the $K$ of the lemmas.)"
        ),
        instance=(
            "Two groups of equal weights $1/2, 1/2$ have their minimisers at $1$ and $-1$, with curvature $1$ and "
            "exact gradients. A fair coin, with chances $1/2, 1/2$, says in every round whether $1$ and $3$ or $3$ "
            "and $1$ of their clients are there. The budget is $4$, so all are asked. Estimates begin at $1/10$. The "
            r"model starts at $1/20$ and makes $T = 60$ rounds of $K = 1000$ local steps, with $\eta_L = 1/10000000$ "
            r"and $\eta = 10000/3$. Stated are $\epsilon = 3/2$, $r_{\min} = 199/100$ and $c = 499/1000$."
        ),
        true=(
            r"The mean of $\|\nabla F\|^2$ is bounded by the printed first term up to its constant, a drift of second "
            r"order in $\eta_L$, the error of the estimates, and $L \eta \eta_L K G^2$ times the mean variance of the "
            "selection. At the planned rates that variance is what the policy minimises. Let $r_j$ be the expected and "
            r"$S_j$ the drawn number of answers of group $j$ in a round. Then $\bar V_T$ is the mean over the rounds "
            r"of "
            r"$\sum_j p_j^2 r_j/\hat s_j^2$, and $\bar\delta_T$ the root mean square of $\max_j |r_j/\hat s_j - 1|$. "
            r"$\hat V_T$ and $\hat\delta_T$ are these with $\mathbb{E}[S_j/\hat s_j^2]$ in the place of $r_j/\hat "
            r"s_j^2$, and "
            r"$\mathbb{E}[S_j/\hat s_j]$ in that of $r_j/\hat s_j$."
        ),
        editions=("flics.thm1@corrected", "flics.thm1@received"),
        objection=r"Assumptions on $\epsilon$ and $r_{\min}$ are stretched: an error of $3/2$ is no small error.",
        answer=(
            "The statement allows any. It falls as well with estimates that are exact, where planned participants "
            r"are counted: two groups with $\widehat{s} = s = 1/2$ and $\epsilon$ as small as one likes."
        ),
    ),
    Erratum(
        claims=("flics.lemma7@main",),
        printed=(
            r"\mathbb{E}_t\Big[\|\Delta^{t+1}\|^2\Big]\leq\hat{\epsilon}^2\eta_L^2K\sigma_L^2\Big(\sum_{i=1}^mp_i^2"
            r"\Big)+"
            r"\eta_L^2\hat{\epsilon}^2\mathbb{E}_t\Big[\Big\|\sum_{i=1}^mp_i\sum_{k=1}^{K-1}\nabla F("
            r"\mathbf{w}_i^{t,k})\Big\|^2"
            r"\Big]+\eta_L^2(\sigma_L^2+G^2)\mathbf{Tr}(\mathbf{Y}_t^T\mathbf{Y}_t\Sigma)",
        ),
        wrong=(
            "The lemma bounds the square of a sum of $K$ local gradients by the bound of one of them. The last term "
            "needs a factor $K^2$."
        ),
        instance=(
            "One group of weight $1$ has one client, that is there with probability $1$ and is asked with "
            r"probability $1/10$. Its estimate is exact, $1/10$, so $\epsilon = 0$ and $r_{\min} = 1/10$. Its "
            "objective has curvature $1$ and its minimiser at $0$; gradients are exact. The model is at $1$. It "
            r"makes $K = 10$ local steps of $\eta_L = 1/1000$."
        ),
        true=(
            "With $K^2 G^2$ in that term, and the variance of the numbers of answers, the lemma holds. $\\bar V_T$ is "
            "as in the first erratum."
        ),
        editions=("flics.lemma7@corrected",),
        objection="The factor can be put into $G$.",
        answer=(
            "$G$ bounds one local gradient by Assumption 4 of the paper. If it bounded the sum, it would change the "
            "noise terms too."
        ),
    ),
    Erratum(
        claims=("flics.lemma4@main", "flics.lemma5@main"),
        printed=(
            r"\mathbb{E}[\Delta^t]=(1+\hat{\epsilon})\overline{\mathbf{v}}^{t+1},\quad \hat{\epsilon}=1+\frac{"
            r"\epsilon}{r_{\min}}",
        ),
        wrong=(
            r"The ratio $s_i/\widehat{s}_i$ is at most $1 + \epsilon/r_{\min}$. The lemma writes that bound as if it "
            "were the value of the ratio, the same for all groups. Lemma 5 uses it as an equality."
        ),
        instance=(
            "One group of weight $1$ has one client, there with probability $1$ and asked with probability $1/2$. "
            r"The estimate is $3/4$, so the error is $\epsilon = 1/4$, with $r_{\min} = 1/2$. The objective has "
            "curvature $1$ and its minimiser at $0$; gradients are exact. The model is at $1$, and makes $K = 1$ "
            r"local step of $\eta_L = 1/10$."
        ),
        true=(
            r"The mean update is within $\epsilon/(r_{\min} - \epsilon)$ of the unbiased one, relative to its largest "
            "length. In Lemma 5 the error of the estimates adds a term of its own, with $\\bar\\delta_T$ as in the "
            "first erratum."
        ),
        editions=("flics.lemma4@corrected", "flics.lemma5@corrected"),
        objection="The lemma says that the update is nearly unbiased, and that is all that is used.",
        answer=(
            "It is used with the factor, and with a sign: multiplied by an inner product that may be positive, a "
            "larger factor makes the right side of Lemma 5 smaller."
        ),
    ),
    Erratum(
        claims=("flics.lemma6@main",),
        printed=(
            r"\mathbb{E}\Big[\Big\|\sum_{i=1}^m\frac{p_i}{\hat{s}_i(t)}S_i\mathbf{x}_i\Big\|^2\Big]\leq\hat{"
            r"\epsilon}^2\mathbb{E}"
            r"\Big[\Big\|\sum_ip_i\mathbf{x}_i\Big\|^2\Big]+\sum_{i,j=1}^m\frac{p_ip_j\Sigma_{ij}}{\hat{s}_i(t)"
            r"\hat{s}_j(t)}"
            r"\langle\mathbf{x}_i,\mathbf{x}_j\rangle",
        ),
        wrong=(
            "A weighted sum of inner products is bounded by replacing every weight by its largest value. That is "
            "right for summands that are at least 0, and inner products of two groups may be negative."
        ),
        instance=(
            "Two groups of equal weights $1/2, 1/2$ have one client each, there and asked with probability $1$. "
            r"Their estimates are $1$ and $6/5$, so $\epsilon = 1/5$ with $r_{\min} = 1$. Their objectives have "
            "curvature $1$ and minimisers at $-1$ and $1$; gradients are exact. The model is at $0$, and makes $K = "
            r"1$ local step of $\eta_L = 1/10$."
        ),
        true=(
            r"With the largest relative error $\bar\delta_T$ of the estimates, the first term gets the factor $1 + "
            r"\bar\delta_T$, and $\bar\delta_T (1 + \bar\delta_T)$ times the mean of $\|x_i\|^2$ is added."
        ),
        editions=("flics.lemma6@corrected",),
        objection="For similar groups the inner products are positive.",
        answer="The paper is about groups that differ, and the lemma allows any vectors.",
    ),
)  # fmt: skip
