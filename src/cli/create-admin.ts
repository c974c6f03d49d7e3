import { createInterface } from 'node:readline/promises';
import { parseArgs } from 'node:util';
import { SYSTEM } from '../core/context.ts';
import { inTransaction } from '../core/db.ts';
import { AppError } from '../core/errors.ts';
import { PASSWORD_MAX, PASSWORD_MIN } from '../core/fields.ts';
import { addUser } from '../users/commands.ts';
import { isCommonPassword } from '../users/common-passwords.ts';
import { hashPassword } from '../users/passwords.ts';
import { runCommand, UsageError, withDatabase } from './connect.ts';

const USAGE =
  'Usage: npm run create-admin -- --email name@example.com --first-name Name --last-name Name\n' +
  'The password is asked for, or read from ADMIN_PASSWORD.';

await runCommand(async (config) => {
  const { email, firstName, lastName } = readArguments();
  const password = process.env.ADMIN_PASSWORD ?? (await askPassword());
  if (password.length < PASSWORD_MIN || password.length > PASSWORD_MAX) {
    throw new UsageError(`The password must have ${PASSWORD_MIN} to ${PASSWORD_MAX} characters.`);
  }
  if (config.production && isCommonPassword(password))
    throw new UsageError('The password is one of the most common.');

  await withDatabase(config, async ({ db }) => {
    const passwordHash = await hashPassword(password);
    const user = { email, firstName, lastName, passwordHash, role: 'admin' as const };
    await inTransaction(db, (tx) => addUser(tx, { ...SYSTEM, name: 'cli' }, user)).catch((error: unknown) => {
      throw error instanceof AppError ? new UsageError(error.message) : error;
    });
  });
  console.log(`${email} can sign in as admin.`);
});

function readArguments() {
  const options = {
    email: { type: 'string' },
    'first-name': { type: 'string' },
    'last-name': { type: 'string' },
  } as const;
  const values = parse(options);
  const { email, 'first-name': firstName, 'last-name': lastName } = values;
  if (!email?.includes('@') || !firstName || !lastName) throw new UsageError(USAGE);
  return { email, firstName, lastName };
}

function parse<T extends NonNullable<Parameters<typeof parseArgs>[0]>['options']>(options: T) {
  try {
    return parseArgs({ options }).values;
  } catch (cause) {
    throw new UsageError(USAGE, { cause });
  }
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
