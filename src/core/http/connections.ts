import { readFile } from 'node:fs/promises';
import {
  createServer,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../log.ts';

/**
 * Limits that Node does not provide: how many unanswered requests a connection can have, and how long an answer can stay unread.
 */

/** Clients that pipeline requests send at most a few dozen at once. Browsers and proxies send one request at a time. */
const MAX_UNANSWERED = 64;
const CHECK_INTERVAL_MS = 2_500;
/**
 * The server closes a connection if its client has read nothing for this many intervals (25 to 28 s). The kernel of a client may
 * report progress only after the client has read a third of a megabyte. At 20 kB/s, this takes 17 s.
 */
const MAX_SILENT_INTERVALS = 10;
/** The limit (a minute) if the kernel of the server does not report how much the client has read. */
const MAX_UNCERTAIN_INTERVALS = 24;

/** The unfinished answers of a connection, and their progress. */
interface Activity {
  /** The oldest request first. */
  answers: Set<ServerResponse>;
  /** Changes when the client reads: the bytes sent, buffered and queued at the last check. Undefined if nothing was buffered. */
  position: string | undefined;
  /** The number of checks in a row that found this position. */
  silentIntervals: number;
}

const activities = new WeakMap<Socket, Activity>();

/** The unfinished answers of a connection, oldest request first. */
export function answersOn(socket: Socket): readonly ServerResponse[] {
  return [...(activities.get(socket)?.answers ?? [])];
}

/** An HTTP server that closes connections with too many unanswered requests, or with an answer that stays unread. */
export function createConnectionServer(
  options: ServerOptions,
  answer: RequestListener,
  log: Pick<Log, 'info'>,
): Server {
  /** Connections with an unfinished answer. */
  const active = new Set<Socket>();

  const server = createServer(options, (request, response) => {
    const { socket } = request;
    // Node still reports requests that it read before the connection was closed.
    if (socket.destroyed) return;
    const activity = activities.get(socket) ?? begin(socket);
    if (activity.answers.size >= MAX_UNANSWERED) {
      log.info(
        { client: socket.remoteAddress },
        `Closed a connection with more than ${MAX_UNANSWERED} unanswered requests.`,
      );
      socket.destroy();
      return;
    }
    activity.answers.add(response);
    active.add(socket);
    response.once('close', () => {
      activity.answers.delete(response);
      if (activity.answers.size === 0) active.delete(socket);
    });
    answer(request, response);
  });

  async function closeStalled(): Promise<void> {
    const someAreUnread = [...active].some(({ writableLength }) => writableLength > 0);
    const queues = someAreUnread ? await readSendQueues() : undefined;
    for (const socket of active) {
      const activity = activities.get(socket);
      if (!activity) continue;
      const { isStalled, ...seen } = checkProgress(socket, activity, queues);
      Object.assign(activity, seen);
      if (!isStalled) continue;
      log.info({ client: socket.remoteAddress }, 'Closed a connection whose client did not read its answer.');
      // A reset, because some clients would treat a normal close as the end of the answer.
      socket.resetAndDestroy();
    }
  }

  let timer: NodeJS.Timeout | undefined;
  server.on('listening', () => {
    timer = setInterval(() => void closeStalled(), CHECK_INTERVAL_MS).unref();
  });
  server.on('close', () => clearInterval(timer));
  return server;
}

function begin(socket: Socket): Activity {
  const activity: Activity = { answers: new Set(), position: undefined, silentIntervals: 0 };
  activities.set(socket, activity);
  // Before version 24, Node emits 'close' only on the answer being sent, not on the answers waiting behind it.
  socket.once('close', () =>
    setImmediate(() => {
      for (const answer of activity.answers) answer.emit('close');
    }),
  );
  return activity;
}

/**
 * Checks whether a client has left its answer unread for too long. The kernel of the server accepts more of an answer only when a
 * third of its send buffer is free. The buffer may have megabytes, so a slow client may need long to read a third of it. Until
 * then, only the number of bytes in the buffer shows that the client reads.
 */
function checkProgress(
  socket: Socket,
  { position, silentIntervals }: Activity,
  queues: SendQueues | undefined,
) {
  if (socket.writableLength === 0) return { position: undefined, silentIntervals: 0, isStalled: false };
  const { bytesWritten, writableLength, localPort, remotePort } = socket;
  // Data is pending, so a queue length of 0 means that the kernel does not report the length.
  const queued = queues?.get(`${localPort} ${remotePort}`) || undefined;
  const newPosition = `${bytesWritten} ${writableLength} ${queued}`;
  const silent = newPosition === position ? silentIntervals + 1 : 0;
  const limit = queued === undefined ? MAX_UNCERTAIN_INTERVALS : MAX_SILENT_INTERVALS;
  return { position: newPosition, silentIntervals: silent, isStalled: silent >= limit };
}

/** The number of bytes that the client has not yet acknowledged, by local and remote port of the connection. */
type SendQueues = Map<string, number>;

/** See proc_net_tcp in the documentation of the Linux kernel. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const ROW = /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/g;

/** Adds up the queues of connections that differ only in their addresses. @returns undefined if the system is not Linux. */
async function readSendQueues(): Promise<SendQueues | undefined> {
  if (process.platform !== 'linux') return undefined;
  const tables = await Promise.all(TABLES.map((path) => readFile(path, 'latin1').catch(() => '')));
  const queues: SendQueues = new Map();
  for (const [, local = '', remote = '', queue = ''] of tables.join('\n').matchAll(ROW)) {
    const ports = `${Number.parseInt(local, 16)} ${Number.parseInt(remote, 16)}`;
    queues.set(ports, (queues.get(ports) ?? 0) + Number.parseInt(queue, 16));
  }
  return queues;
}
