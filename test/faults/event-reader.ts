import { setTimeout as sleep } from 'node:timers/promises';
import { expect } from 'vitest';
import { inTurn } from '../acceptance/client.ts';
import { send } from './clients.ts';

export interface SeenEvent {
  id: number;
  type: string;
  resourceId: number;
  accountId: number | null;
  accountVersion: number | null;
}

const RETRY_PAUSE_MS = 100;

/** Reads the feed continuously, from the instances in turn. Each page continues at `after` of the page before. */
export function startReading(origins: readonly string[], token: string) {
  const events: SeenEvent[] = [];
  let after = 0;
  let requests = 0;
  let isStopping = false;

  async function read(): Promise<void> {
    while (!isStopping) {
      const path = `/api/events?after=${after}&limit=1000&wait=1`;
      const { status, body } = await send(inTurn(origins, requests++), 'GET', path, { token });
      if (status === 200) {
        const { data } = JSON.parse(body) as { data: { events: SeenEvent[]; after: number } };
        events.push(...data.events);
        after = data.after;
      } else {
        expect([undefined, 503], body).toContain(status);
        await sleep(RETRY_PAUSE_MS);
      }
    }
  }

  const reading = read();
  reading.catch(() => {}); // `stop` reports the error.
  return {
    after: () => after,
    async stop(): Promise<SeenEvent[]> {
      isStopping = true;
      await reading;
      return events;
    },
  };
}

/** The versions of each account are 1, 2, 3, … in the order of the feed. */
export function expectGaplessVersions(events: readonly SeenEvent[]): void {
  const versions = new Map<number, number[]>();
  for (const { accountId, accountVersion } of events) {
    if (accountId === null || accountVersion === null) continue;
    const known = versions.get(accountId) ?? [];
    known.push(accountVersion);
    versions.set(accountId, known);
  }
  for (const [accountId, found] of versions)
    expect(found, `account ${accountId}`).toEqual(found.map((_, at) => at + 1));
}
