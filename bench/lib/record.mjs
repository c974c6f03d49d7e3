/**
 * Preloaded into the service (node --import). Appends each successful statement with its values to the file BENCH_RECORD, as one
 * line of JSON. Statements that are sent as a plain string or a stream are not recorded.
 */
import { appendFileSync } from 'node:fs';
import pg from 'pg';
import { prepareValue } from 'pg/lib/utils.js';

const query = pg.Client.prototype.query;

pg.Client.prototype.query = function recorded(...given) {
  const [config] = given;
  const answer = query.apply(this, given);
  if (typeof config?.text !== 'string' || typeof answer?.then !== 'function') return answer;
  const { text, values = [] } = config;
  return answer.then((result) => {
    appendFileSync(process.env.BENCH_RECORD, `${JSON.stringify({ text, values: values.map(textOf) })}\n`);
    return result;
  });
};

/** A parameter in the form in which pg sends it. */
function textOf(value) {
  const prepared = prepareValue(value);
  return Buffer.isBuffer(prepared) ? `\\x${prepared.toString('hex')}` : prepared;
}
