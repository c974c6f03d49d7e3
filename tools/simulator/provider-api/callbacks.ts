import { setTimeout as sleep } from 'node:timers/promises';

/** How the provider posts a message to the service, such as a notification or the result of an earlier call. */

/** The default delay between a call and the message that the provider posts. */
export const ANSWER_MS = 50;
/** The default delay of an answer or a message that a test scenario makes `late`. */
export const LATE_MS = 400;

/** The provider gives up after this many tries. */
const TRIES = 240;
const TRY_PAUSE_MS = 250;

/** Posts until the service has accepted or refused the body. @param url - called for each try, because the address may change. */
export async function postUntilAccepted(url: () => string, body: object): Promise<void> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const status = await fetch(url(), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(
      (response) => response.status,
      () => undefined, // The service is down.
    );
    if (status !== undefined && status < 500 && status !== 429) return;
    await sleep(TRY_PAUSE_MS);
  }
}

/** Deliveries that are under way. */
export interface Deliveries {
  add(work: Promise<void>): Promise<void>;
  /** Waits until every delivery has ended. */
  settled(): Promise<void>;
}

export function trackDeliveries(): Deliveries {
  const underWay = new Set<Promise<void>>();
  return {
    add(work) {
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
      return work;
    },
    async settled() {
      while (underWay.size > 0) await Promise.all(underWay);
    },
  };
}
