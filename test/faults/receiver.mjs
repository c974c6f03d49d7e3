// A receiver of webhooks that a test kills. It stores each verified event in a file before it answers.
// node receiver.mjs <port> <file> <secret>
import { openSync, writeSync } from 'node:fs';
import http from 'node:http';
import { Webhook } from 'standardwebhooks';

const [port, file = '', secret = ''] = process.argv.slice(2);
const stored = openSync(file, 'a');
const webhook = new Webhook(secret);

const server = http.createServer(async (request, response) => {
  let body = '';
  for await (const chunk of request) body += chunk;
  if (request.method === 'GET') return response.writeHead(204).end(); // The test asks whether it runs.
  try {
    const { id, resource, resourceId } = webhook.verify(body, request.headers);
    writeSync(stored, `${id} ${resource} ${resourceId}\n`);
    response.writeHead(204).end();
  } catch (error) {
    writeSync(stored, `refused: ${error.message}\n`);
    response.writeHead(400).end();
  }
});
server.listen(Number(port), '127.0.0.1');
