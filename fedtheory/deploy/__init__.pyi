from . import flower as flower
from . import nvflare as nvflare
from .answers import Answer as Answer
from .round_log import COLUMNS as COLUMNS
from .server import Asked as Asked
from .server import Server as Server
