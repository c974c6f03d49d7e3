import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';

const run = promisify(execFile);
let scripts = 0;

/**
 * Runs one round of wrk. Returns requests per second and latencies in ms. Throws if a request failed.
 * @param prefix - a text before each path. Only bare.mjs needs it.
 * @param tokens - access tokens. In each call, a random token replaces `{token}`.
 * @param numbers - a file with lines `<account> <account number>`, because Lua cannot easily compute the check digit.
 */
export async function wrk({
  base,
  workload,
  headers,
  seconds,
  connections,
  scratch,
  numbers,
  tokens,
  prefix = '',
}) {
  const script = `${scratch}/wrk-${scripts++}.lua`;
  writeFileSync(script, luaScript(workload, headers, { numbers, tokens, prefix }));
  const threads = Math.min(2, connections);
  const args = [`-t${threads}`, `-c${connections}`, `-d${seconds}s`, '--timeout', '30s', '-s', script, base];
  const { stdout } = await run('wrk', args);
  const result = /^RESULT (.*)$/m.exec(stdout)?.[1];
  if (!result) throw new Error(`wrk printed no result: ${stdout}`);
  const { requests, us, p50, p99, failures } = JSON.parse(result);
  if (failures > 0) throw new Error(`${workload.name}: ${failures} failures at ${base}`);
  return { perSecond: requests / (us / 1e6), requests, p50: p50 / 1000, p99: p99 / 1000 };
}

function luaScript(
  { method, path, body, headers: own = {}, ranges },
  headers,
  { numbers, tokens = [''], prefix },
) {
  const [from, to] = ranges.account ?? ranges.customer ?? [1, 1];
  const entries = Object.entries({ 'content-type': 'application/json', ...own, ...headers });
  return `
local threads = 0
local tokens = {${tokens.map((token) => JSON.stringify(token)).join(', ')}}
function setup(thread)
  thread:set("id", threads)
  threads = threads + 1
end
function init(args)
  math.randomseed(os.time() * 100 + id)
  n, numbers = 0, {}
  ${body?.includes('{accountNumber}') ? `for line in io.lines(${JSON.stringify(numbers)}) do numbers[#numbers + 1] = line end` : ''}
end
function request()
  n = n + 1
  local account, accountNumber = math.random(${from}, ${to}), ""
  if #numbers > 0 then account, accountNumber = numbers[math.random(#numbers)]:match("(%S+) (%S+)") end
  local customer = account
  local token = tokens[math.random(#tokens)]
  local reference = string.format("W${Date.now()}%d%d", id, n)
  return wrk.format(${JSON.stringify(method)}, ${lua(`${prefix}/api${path}`)}, {
    ${entries.map(([name, value]) => `[${JSON.stringify(name)}] = ${lua(value)}`).join(',\n    ')}
  }, ${body === undefined ? 'nil' : lua(body)})
end
function done(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT {"requests":%d,"us":%d,"p50":%d,"p99":%d,"failures":%d}\\n',
    summary.requests, summary.duration, latency:percentile(50), latency:percentile(99),
    e.status + e.connect + e.read + e.write + e.timeout))
end
`;
}

/** Converts a text with variables such as `{account}` to a Lua expression that joins its parts. */
function lua(text) {
  const parts = text.split(/\{(account|accountNumber|customer|reference|token)\}/);
  return parts.map((part, i) => (i % 2 === 1 ? part : JSON.stringify(part))).join(' .. ');
}
