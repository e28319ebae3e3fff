from .family_choice import FamilyChoice as FamilyChoice
from .family_choice import choose_family as choose_family
from .rates import Rates as Rates
from .rates import rates as rates
