from . import flower as flower
from . import nvflare as nvflare
from .round_log import COLUMNS as COLUMNS
from .server import Answer as Answer
from .server import Asked as Asked
from .server import Server as Server
