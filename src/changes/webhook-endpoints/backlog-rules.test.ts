import { describe, expect, it } from 'vitest';
import { Backlog, type BacklogEvent, type Item } from './backlog-rules.ts';

type Started = Item<BacklogEvent>;
const NOW = new Date('2026-11-02T08:00:00Z');
const LATER = new Date(NOW.getTime() + 1_001);
const event = (id: number, orderKey = `account ${id}`) => ({ id, orderKey });
const retry = (id: number, orderKey?: string) => ({
  event: event(id, orderKey),
  attempts: 1,
  firstAttemptAt: null,
  storedVersion: 'read',
});
const versionsOf = (items: Started[]) => new Map(items.map(({ event: { id } }) => [id, 'saved']));
const idsOf = (items: { event: { id: number } }[]) => items.map(({ event: { id } }) => id);

function backlogOf(events: BacklogEvent[], readTo = events.at(-1)?.id ?? 0) {
  const backlog = new Backlog(0);
  backlog.addEvents(events, readTo);
  return backlog;
}

describe('events of a backlog', () => {
  it('start in the order of the feed, up to the number of slots', () => {
    const backlog = backlogOf([1, 2, 3, 4].map((id) => event(id)));
    const [one] = backlog.start(3, false, NOW) as [Started];
    expect(idsOf(backlog.all('running'))).toEqual([1, 2, 3]);
    expect(idsOf(backlog.start(3, false, NOW))).toEqual([]);
    one.state = 'delivered';
    expect(idsOf(backlog.start(3, false, NOW))).toEqual([4]);
  });

  it('get half of the slots while retries wait, and all of them otherwise', () => {
    const backlog = backlogOf([11, 12, 13, 14].map((id) => event(id)));
    backlog.addRetries([1, 2, 3, 4].map((id) => retry(id)));
    expect(idsOf(backlog.start(4, false, NOW))).toEqual([1, 2, 11, 12]);
  });

  it('are not added again while the backlog has them', () => {
    const backlog = backlogOf([event(1)]);
    backlog.start(1, false, NOW);
    backlog.addRetries([retry(1)]);
    backlog.addEvents([event(1)], 1);
    expect(backlog.ids()).toEqual([1]);
    expect(backlog.count('running')).toBe(1);
  });
});

describe('the cursor', () => {
  it('stays before the first event that is neither done nor stored', () => {
    const backlog = backlogOf(
      [3, 5, 7].map((id) => event(id)),
      9,
    );
    const [three, five] = backlog.start(2, false, NOW) as [Started, Started];
    five.state = 'delivered';
    expect(backlog.cursorAfter(new Set([five]))).toBe(2);
    backlog.recordSaved([five], [], new Map());
    three.state = 'failed';
    expect(backlog.cursorAfter(new Set([three]))).toBe(6);
    backlog.recordSaved([three], [], new Map());
    const [seven] = backlog.start(1, false, NOW) as [Started];
    expect(backlog.cursorAfter(new Set([seven]))).toBe(9);
  });

  it('passes an event whose request runs for more than a second, once the event is stored as a retry', () => {
    const backlog = backlogOf([event(1), event(2)]);
    const [one] = backlog.start(1, false, NOW) as [Started];
    expect(backlog.runningToStore(NOW, false)).toEqual([]);
    expect(backlog.runningToStore(LATER, false)).toEqual([one]);
    expect(backlog.cursorAfter(new Set([one]))).toBe(1);
    backlog.recordSaved([], [one], versionsOf([one]));
    expect(backlog.runningToStore(LATER, false)).toEqual([]);
    expect(backlog.runningToStore(LATER, true)).toEqual([one]);
    expect(backlog.count('running')).toBe(1);
  });

  it('passes an event that ended while it was being stored as a retry; the next save removes the event', () => {
    const backlog = backlogOf([event(1), event(2)]);
    const [one] = backlog.start(1, false, NOW) as [Started];
    const running = backlog.runningToStore(LATER, false);
    one.state = 'delivered';
    backlog.recordSaved([], running, versionsOf(running));
    expect(one.storedVersion).toBe('saved');
    expect(backlog.ids()).toEqual([1, 2]);
    backlog.recordSaved([one], [], new Map());
    expect(backlog.ids()).toEqual([2]);
  });

  it('can be moved back; events that are being sent stay', () => {
    const backlog = backlogOf([event(5), event(6)]);
    backlog.start(1, false, NOW);
    backlog.moveTo(3);
    expect([backlog.position, backlog.ids()]).toEqual([3, [5]]);
  });

  it('waits at an event that was read again during its request, until the event was sent once more', () => {
    const backlog = backlogOf([event(5), event(6)]);
    const [five, six] = backlog.start(2, false, NOW) as [Started, Started];
    six.state = 'delivered'; // but not saved yet
    backlog.moveTo(4);
    backlog.addEvents([event(5), event(6)], 6);
    expect(idsOf(backlog.start(2, false, NOW))).toEqual([]);
    five.state = 'failed';
    expect(backlog.cursorAfter(new Set([five, six]))).toBe(4);
    backlog.recordSaved([five, six], [], versionsOf([five]));
    const again = backlog.start(2, false, NOW) as [Started, Started];
    expect(again.map((item) => [item.event.id, item.storedVersion])).toEqual([
      [5, 'saved'],
      [6, undefined],
    ]);
    backlog.recordSaved(again, [], new Map());
    expect([backlog.ids(), backlog.cursorAfter(new Set())]).toEqual([[], 6]);
  });

  it('does not repeat events before the one to which it was moved back', () => {
    const backlog = backlogOf([event(5), event(6)]);
    const [five, six] = backlog.start(2, false, NOW) as [Started, Started];
    backlog.moveTo(5);
    backlog.addRetries([retry(5)]);
    backlog.addEvents([event(6)], 6);
    backlog.recordSaved([five, six], [], new Map());
    expect(backlog.ids()).toEqual([6]);
  });
});

it('forgets retries that have not started, and no other events', () => {
  const backlog = backlogOf([event(9)]);
  backlog.addRetries([1, 2].map((id) => retry(id)));
  backlog.start(1, false, NOW);
  backlog.forgetRetries();
  expect(backlog.ids().sort()).toEqual([1, 9]);
});

describe('in order', () => {
  it('an event waits while an earlier event of its key is being sent', () => {
    const backlog = backlogOf([event(1, 'a'), event(2, 'a'), event(3, 'b')]);
    const [one] = backlog.start(9, true, NOW) as [Started];
    expect(idsOf(backlog.all('running'))).toEqual([1, 3]);
    one.state = 'delivered';
    expect(idsOf(backlog.start(9, true, NOW))).toEqual([2]);
  });

  it('an event waits until a failed earlier event of its key is stored, and is then deferred', () => {
    const backlog = backlogOf([event(1, 'a'), event(2, 'a')]);
    const [one] = backlog.start(9, true, NOW) as [Started];
    one.state = 'failed';
    expect(backlog.start(9, true, NOW)).toEqual([]);
    backlog.recordSaved([one], [], new Map());
    backlog.block(new Set(['a']));
    expect(backlog.start(9, true, NOW)).toEqual([]);
    expect(idsOf(backlog.all('deferred'))).toEqual([2]);
  });

  it('a retry is sent although its key is blocked', () => {
    const backlog = backlogOf([event(5, 'a'), event(6, 'b')]);
    backlog.block(new Set(['a']));
    backlog.addRetries([retry(1, 'a')]);
    expect(idsOf(backlog.start(9, true, NOW))).toEqual([1, 6]);
    expect(idsOf(backlog.all('deferred'))).toEqual([5]);
  });

  it('an event waits while slots are full, and a later event of its key is not sent before it', () => {
    const backlog = backlogOf([event(1, 'x'), event(2, 'a'), event(3, 'a'), event(4, 'b')]);
    const [one] = backlog.start(1, true, NOW) as [Started];
    one.state = 'delivered';
    expect(idsOf(backlog.start(9, true, NOW))).toEqual([2, 4]);
  });
});
