import { createInterface } from 'node:readline/promises';
import { type Context, SYSTEM } from '../core/context.ts';
import { AppError } from '../core/http/errors.ts';
import { createValidatorCompiler } from '../core/http/validation.ts';
import { createUser } from '../staff/users/commands.ts';
import { NewUserBody } from '../staff/users/schema.ts';
import { readArguments, runCommand, UsageError, withDatabase } from './connect.ts';

const USAGE =
  'Usage: npm run create-admin -- --email name@example.com --first-name Name --last-name Name\n' +
  'The command reads the password from ADMIN_PASSWORD. If this setting is empty, the command asks for the password on a terminal.';

await runCommand(async (config) => {
  const { email, firstName, lastName } = readPerson();
  const password = config.ADMIN_PASSWORD === '' ? await askPassword() : config.ADMIN_PASSWORD;
  await withDatabase(config, async (context) => {
    const user = readNewUser(context, { email, firstName, lastName, password, role: 'admin' });
    await createUser(context, { ...SYSTEM, name: 'cli' }, user);
  }).catch((error: unknown) => {
    throw error instanceof AppError ? new UsageError(error.message) : error;
  });
  console.log(`${email} can sign in as admin.`);
});

function readPerson() {
  const text = { type: 'string' } as const;
  const { values } = readArguments(USAGE, {
    options: { email: text, 'first-name': text, 'last-name': text },
  });
  const { email, 'first-name': firstName, 'last-name': lastName } = values;
  if (!email || !firstName || !lastName) throw new UsageError(USAGE);
  return { email, firstName, lastName };
}

/** @throws AppError VALIDATION_ERROR for values that POST /users refuses. */
function readNewUser(context: Context, given: NewUserBody): NewUserBody {
  const checked = createValidatorCompiler(context)({ schema: NewUserBody, httpPart: 'body' })(given);
  if ('error' in checked) throw checked.error;
  return given;
}

async function askPassword(): Promise<string> {
  if (!process.stdin.isTTY) throw new UsageError(USAGE);
  const prompt = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return await prompt.question('Password (shown while you type): ');
  } finally {
    prompt.close();
  }
}
