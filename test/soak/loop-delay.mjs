/**
 * `node --import` loads this file into the process of the service. At each SIGWINCH, a signal that the service does not use, it
 * appends a line to the file LOOP_DELAY_FILE: the delays of the event loop in ms since the previous SIGWINCH. The figures of
 * /metrics start again with every scrape, so none of them covers the whole time.
 */
import { appendFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';

const NS_PER_MS = 1e6;
// The interval of the timer. The delays include it, like those of /metrics.
const delays = monitorEventLoopDelay({ resolution: 10 });
delays.enable();

process.on('SIGWINCH', () => {
  const figures = { p50: delays.percentile(50), p99: delays.percentile(99), max: delays.max };
  const inMs = Object.entries(figures).map(([name, ns]) => [name, Math.round(ns / NS_PER_MS)]);
  appendFileSync(process.env.LOOP_DELAY_FILE, `${JSON.stringify(Object.fromEntries(inMs))}\n`);
  delays.reset();
});
