/**
 * `node --import` loads this file before the service. It appends each successful statement and its values to the file that
 * BENCH_RECORD names, as one line of JSON. It does not record statements that are sent as a plain string or as a stream.
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

/** A value in the form in which pg sends it. */
function textOf(value) {
  const prepared = prepareValue(value);
  return Buffer.isBuffer(prepared) ? `\\x${prepared.toString('hex')}` : prepared;
}
