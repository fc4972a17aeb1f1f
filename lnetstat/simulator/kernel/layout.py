"""The fields of every object in the kernel's memory, and its codes."""

from typing import Protocol


class Memory(Protocol):
    """An int64 array, in compiled code its address, or a list of ints."""

    def __getitem__(self, i: int, /) -> int: ...
    def __setitem__(self, i: int, value: int, /) -> None: ...


NEVER = 1 << 62

# kinds of events
DELIVER, RECEIVED, ACK, NOOP, REPOST, SERVED, DISK, PINGER, START, THINK, FAULT, RETRY, RESEND, RECOVER_NI, RECOVER_ENTRY = range(15)

# kinds of RPC (as in plan.py), stages of an RPC, phases of a message on the wire
PING, WRITE, READ, SMALL = range(4)
REQUEST, GET, DATA, DATA_ACK, REPLY = range(5)
WHOLE, REQ, DONE = range(3)
CLIENT, ROUTER, SERVER = range(3)

PAGE_BYTES = 4096  # payloads above it are bulk
HEADER_BYTES = 72  # lnet_hdr_t: counted in queue_bytes
HEALTH_MAX = 1000

# what advance() returns
FINISHED, MORE_MESSAGES, MORE_EVENTS, MORE_TRACE, PAUSED = range(5)

# the head of the memory: 0 is no object
NOW = 1
SEQUENCE = 2
HEAP_COUNT = 3
FREE_MESSAGE = 4  # a list of messages that were used and are free again
FREE_COUNT = 5  # of those and of those never used
MARGIN = 6  # messages and events that one event may need at most
SERIAL = 7
CLIENTS = 8
ROUTERS = 9
SERVERS = 10
RAILS = 11
BALANCE = 12
TARGETS = 13
IMPORTS = 14
FIRST_NODE = 15
PING_BYTES = 16
REQUEST_BYTES = 17
REPLY_BYTES = 18
BULK_BYTES = 19
PING_SERVICE = 20
SMALL_SERVICE = 21
DISK_WRITE = 22
DISK_READ = 23
SERVICE_JITTER = 24  # address of the table
SERVICE_JITTER_MASK = 25
DISK_JITTER = 26
DISK_JITTER_MASK = 27
SEED = 28
INTERVAL = 29
ALIGNED = 30
EARLY_PERMILLE = 31
IDLE = 32
KEEP = 33
IMPORT_NEXT = 34  # address: when each import pings next
IMPORT_LAST = 35  # address: its last RPC
FIRST_PROCESS = 36
SENSITIVITY = 37
RETRY_COUNT = 38
RECOVERY = 39
RECOVERY_MAX = 40
DETECT = 41
RESEND_AFTER = 42
FIRST_FAULT = 43
BIN = 44
BINS = 45
PING_BINS = 46  # address: pings served, per server and bin
BULK_BINS = 47  # address: bulk transfers through the disk, per server and bin
PINGS_SENT = 48  # address: per server
PINGS_ROUTED = 49  # address: per router
TRACE_SIZE = 50
TRACE_COUNT = 51
EVENT_COUNT = 52
HAS_FAULTS = 54
UNUSED_MESSAGE = 55  # the first that was never used
PAUSE_EVENTS = 56  # after so many events advance() returns, so that a run can be stopped
MESSAGE_COUNT = 53  # LNet messages completed
HEAD = 64

# rings: events whose times come in order need no heap
RING_TIME = 0  # of the first event; NEVER when empty
RING_SEQ = 1
RING_BASE = 2
RING_MASK = 3
RING_FIRST = 4
RING_COUNT = 5
RING_LAST = 6  # time of the last event
RING_LAST_SEQ = 7
RING = 8
RINGS_AT = HEAD
RING_PINGER, RING_REPOST, RING_SERVED, RING_CLIENT_NET, RING_SERVER_NET, RING_CLIENT_SEND, RING_ROUTER_RECEIVE, RING_SERVER_RECEIVE = range(
    8
)
RINGS = 8
NO_RING = -1
EVENT = 4  # time, sequence, kind, number
AFTER_RINGS = RINGS_AT + RINGS * RING

# Objects begin at cache lines of 8 words; the first line of each is what most events touch.
LINE = 8

# node
NODE_ROLE = 0
NODE_INDEX = 1  # among all nodes
TURN = 2
MSGS = 3
ENTRIES = 4  # address of its first peer entry; of a router: towards clients
RECV_COUNT = 5
RECV_LENGTH = 6
SEND_COUNT = 7
SEND_LENGTH = 8
MSGS_MAX = 9
ROUTE_COUNT = 10
ROUTE_LENGTH = 11
DROP_COUNT = 12
DROP_LENGTH = 13
SERVER_ENTRIES = 14  # of a router: towards servers
FIRST_NI = 15
POOLS = 16
SERVICES = 17  # ost, then ost_io
DISK_FREE = 18
DISK_BUSY = 19
ROUND = 20
DISK_FIRST = 21
DISK_LAST = 22
NODE = 24

# interface
NI_NODE = 0
TX_FREE = 1
LANE_FIRST = 2
LANE_LAST = 3
POST = 4
WIRE = 5
WINDOW = 6  # wire credits of a connection; 0: none
SEND_RING = 7
HANDSHAKE = 8
TX_BUSY = 9
RX = 10
BULK = 11
CONTROL_RING = 12
RX_FIRST = 13
RX_LAST = 14
RECEIVING = 15
RX_FREE = 16
RX_BUSY = 17
EAGER = 18
HIGHWATER = 19
CONCURRENT = 20
PROTOCOL = 21
REPOST_AFTER = 22
NI_QUEUE = 23  # address of its first NI queue
HEALTH = 24
UP = 25
NI_SEQ = 26
RECOVERING = 27
ROUNDS = 28
NI_INDEX = 29
NI_PEER_CREDITS = 30
NI_PEER_BUFFER_CREDITS = 31
RECEIVE_RING = 32
NI = 40

# NI queue and router buffer pool: credits with a FIFO
CREDITS = 0
CREDITS_MIN = 1
QUEUE_FIRST = 2
QUEUE_LAST = 3
CREDITS_MAX = 4
SHORT_SINCE = 5
SHORT = 6
WAIT = 7
WAITS = 8
QUEUE = 16

# peer entry
TX = 0
TX_MIN = 1
QUEUE_BYTES = 2
SEQ = 3
TXQ_FIRST = 4
TXQ_LAST = 5
NI_QUEUE_OF = 6
NI_OF = 7
RTR = 8
RTR_MIN = 9
RTRQ_FIRST = 10
RTRQ_LAST = 11
OTHER = 12  # the other end's entry
POOLS_OF = 13
CONNECTION_OF = 14  # 0: a driver without wire credits, towards a client
ENTRY = 16

# the rest of an entry: its end of the connection, and what only servers' and routers' entries keep
WIRE_CREDITS = 0
OUTSTANDING = 1
NSENDS = 2
SENDQ_FIRST = 3
SENDQ_LAST = 4
NOCREDQ_FIRST = 5
NOCREDQ_LAST = 6
ENTRY_HEALTH = 7
ENTRY_SHORT_SINCE = 8
ENTRY_SHORT = 9
ENTRY_WAIT = 10
ENTRY_WAITS = 11
ENTRY_RECOVERING = 12
ENTRY_ROUNDS = 13
PATH_DOWN = 14
CONNECTION = 16

# message
NEXT = 0
KIND = 1
STAGE = 2
PAYLOAD = 3
TX_ENTRY = 4
RX_ENTRY = 5  # at a router: whose buffer and router credit it holds or awaits
AT = 6  # on a send server's lane: its delivery; in a queue: since when it waits
AT_SEQ = 7
PHASE = 8
CARRIED = 9  # wire credits it brings back
NUMBER = 10  # its serial
OF_CLIENT = 11  # address of the node
OF_SERVER = 12
OF = 13  # an I/O RPC: its process and, above it (STRIPE_SHIFT), the stripe
SINCE = 14  # at a server: when it came, then when a thread took it
RETRIES = 15
MESSAGE = 16
STRIPE_SHIFT = 40
ADDRESS_MASK = (1 << 40) - 1

# process
P_CLIENT = 0
P_KIND = 1
P_FIRST_TARGET = 2
P_STRIPES = 3
P_WINDOW = 4
P_TOTAL = 5
P_THINK = 6
P_ISSUED = 7
P_DONE = 8
PROCESS = 16

# fault
FAULT_NI = 0
FAULT_UP = 1
FAULT_PATH = 2  # an entry: only its path; 0: the whole NI
FAULT_SIZE = 4

# a counter as in the service statistics
C_SAMPLES = 0
C_MIN = 1
C_MAX = 2
C_SUM = 3
C_SUMSQ = 4
COUNTER = 5

# service
THREADS = 0
THREADS_BUSY = 1
BUFFERS = 2
BUFFERS_USED = 3
BUFFERS_MAX = 4
BUFFERS_GROUP = 5
WORK_FIRST = 6
WORK_LAST = 7
WORK_COUNT = 8
PORTAL_FIRST = 9
PORTAL_LAST = 10
PORTAL_COUNT = 11
C_WAITTIME = 12
C_QDEPTH = C_WAITTIME + COUNTER
C_ACTIVE = C_QDEPTH + COUNTER
C_BUFS = C_ACTIVE + COUNTER
C_OPS = C_BUFS + COUNTER  # one of each kind of RPC
SERVICE = C_OPS + 4 * COUNTER
