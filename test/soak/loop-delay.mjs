/**
 * Loaded into an instance beside the service (`node --import`): at each SIGWINCH it adds a line to the file
 * LOOP_DELAY_FILE, the delays of the event loop in ms since the signal before. The figures of /metrics start again
 * with every scrape, so that none of them is of the whole time. No service heeds this signal for anything else.
 */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const NS_PER_MS = 1e6;
// A timer of this interval, which the delays include, as the ones of /metrics do.
const delays = monitorEventLoopDelay({ resolution: 10 });
delays.enable();

process.on('SIGWINCH', () => {
  const figures = { p50: delays.percentile(50), p99: delays.percentile(99), max: delays.max };
  const inMs = Object.entries(figures).map(([name, ns]) => [name, Math.round(ns / NS_PER_MS)]);
  appendFileSync(process.env.LOOP_DELAY_FILE, `${JSON.stringify(Object.fromEntries(inMs))}\n`);
  delays.reset();
});
