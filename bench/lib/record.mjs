/**
 * Preloaded into the service (node --import). Writes the statements that the service sends to PostgreSQL to the file BENCH_RECORD,
 * one JSON value per line, except plain strings, streams and failed statements. The comparisons can then run these statements.
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
