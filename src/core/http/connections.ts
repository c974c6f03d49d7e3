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
 * What one connection may cost: how many requests it may have unanswered, and how long its client may leave an answer
 * unread. Node limits neither.
 */

/** Clients that pipeline send a few dozen requests at most; browsers and proxies send one. */
const MOST_UNANSWERED = 64;
const LOOK_INTERVAL_MS = 2_500;
/**
 * A connection whose unread answer has not moved for so many intervals is closed: after 25 to 28 seconds. The
 * system of a client may take a third of a megabyte before it says so, which are 17 seconds at 20 kB a second.
 */
const MOST_SILENT_INTERVALS = 10;
/** The same where the system does not show what a slow client takes: after a minute. */
const MOST_UNCERTAIN_INTERVALS = 24;

/** What is being answered on a connection. */
interface Activity {
  /** The oldest request first. */
  answers: Set<ServerResponse>;
  /** How far the unread answer was at the last look; undefined where all was read. */
  position: string | undefined;
  /** How many looks in a row found that position. */
  silentIntervals: number;
}

const activities = new WeakMap<Socket, Activity>();

/** The answers under way on a connection, the oldest request first. */
export function answersOn(socket: Socket): readonly ServerResponse[] {
  return [...(activities.get(socket)?.answers ?? [])];
}

/** An HTTP server that closes connections which send too many requests at once, or do not read what they asked for. */
export function createConnectionServer(
  options: ServerOptions,
  answer: RequestListener,
  log: Pick<Log, 'info'>,
): Server {
  /** The connections with an answer under way. */
  const active = new Set<Socket>();

  const server = createServer(options, (request, response) => {
    const { socket } = request;
    // Node still reports the requests that it had read before the connection was closed.
    if (socket.destroyed) return;
    const activity = activities.get(socket) ?? begin(socket);
    if (activity.answers.size >= MOST_UNANSWERED) {
      log.info(
        { client: socket.remoteAddress },
        `Closed a connection with more than ${MOST_UNANSWERED} unanswered requests.`,
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
      const { isStalled, ...seen } = look(socket, activity, queues);
      Object.assign(activity, seen);
      if (!isStalled) continue;
      log.info({ client: socket.remoteAddress }, 'Closed a connection whose client did not read its answer.');
      // Unlike an end, a reset is a failure also to a client that reads until the connection ends.
      socket.resetAndDestroy();
    }
  }

  let timer: NodeJS.Timeout | undefined;
  server.on('listening', () => {
    timer = setInterval(() => void closeStalled(), LOOK_INTERVAL_MS).unref();
  });
  server.on('close', () => clearInterval(timer));
  return server;
}

function begin(socket: Socket): Activity {
  const activity: Activity = { answers: new Set(), position: undefined, silentIntervals: 0 };
  activities.set(socket, activity);
  // Before version 24, Node tells only the answer that was being sent that its connection is gone, not those behind it.
  socket.once('close', () =>
    setImmediate(() => {
      for (const answer of activity.answers) answer.emit('close');
    }),
  );
  return activity;
}

/**
 * Whether a client has left its answer unread for too long. A slow client must not look like one that reads nothing: the
 * system takes more of an answer only when a third of its own buffer, which may be megabytes, is free. So what it still
 * holds for the client counts, too.
 */
function look(socket: Socket, { position, silentIntervals }: Activity, queues: SendQueues | undefined) {
  if (socket.writableLength === 0) return { position: undefined, silentIntervals: 0, isStalled: false };
  const { bytesWritten, writableLength, localPort, remotePort } = socket;
  // A queue length of 0 while data is pending means that the kernel does not report it.
  const queued = queues?.get(`${localPort} ${remotePort}`) || undefined;
  const now = `${bytesWritten} ${writableLength} ${queued}`;
  const silent = now === position ? silentIntervals + 1 : 0;
  const most = queued === undefined ? MOST_UNCERTAIN_INTERVALS : MOST_SILENT_INTERVALS;
  return { position: now, silentIntervals: silent, isStalled: silent >= most };
}

/** Bytes that the system holds for the other end of each connection, by local and remote port. */
type SendQueues = Map<string, number>;

/** See proc_net_tcp in the documentation of the Linux kernel. */
const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const ROW = /:([0-9A-F]{4}) [0-9A-F]+:([0-9A-F]{4}) [0-9A-F]{2} ([0-9A-F]{8}):/g;

/** @returns undefined where the system is not Linux. Connections that differ in their addresses alone are added up. */
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
