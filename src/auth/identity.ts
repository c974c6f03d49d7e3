import { randomBytes } from 'node:crypto';
import type { IdentityProvider } from '../config.ts';
import { audit } from '../core/audit.ts';
import { type Context, SYSTEM } from '../core/context.ts';
import { inTransaction, type Tx } from '../core/database/db.ts';
import { AppError } from '../core/http/errors.ts';
import { canNameProvider, PROVIDER_PARTS, providerVariable } from '../core/values/provider-variables.ts';
import { hashToken } from '../core/values/secret.ts';
import { holdUser, type UserRow } from '../users/store.ts';
import type { AuthParts } from './commands.ts';
import { newSignInSecrets, type ProvenIdentity } from './identity-providers.ts';
import { findInvitation, takeInvited } from './invitations.ts';
import { admitNewcomer, refuseWhereClosed } from './registration.ts';
import { isOfDomain, profileOf } from './rules.ts';
import { startSession } from './sessions.ts';
import * as store from './store.ts';

export const SIGN_IN_SECONDS = 10 * 60;

/**
 * Begins a sign-in: keeps what the callback will be held against, and says where the browser goes and
 * what it must bring back.
 */
export async function startIdentitySignIn(
  { db }: Context,
  { providers }: AuthParts,
  provider: IdentityProvider,
  redirectUri: string,
  invitationToken?: string,
) {
  const invitation = invitationToken === undefined ? undefined : await findInvitation(db, invitationToken);
  const secrets = newSignInSecrets();
  const location = await providers.authorizationUrl(provider, redirectUri, secrets);
  const browserSecret = randomBytes(32).toString('base64url');
  await store.insertSignInState(db, {
    stateHash: hashToken(secrets.state),
    browserHash: hashToken(browserSecret),
    provider: provider.name,
    redirectUri,
    nonce: secrets.nonce,
    codeVerifier: secrets.codeVerifier,
    invitationId: invitation?.id ?? null,
    expiresAt: new Date(Date.now() + SIGN_IN_SECONDS * 1000),
  });
  return { location, browserSecret };
}

interface Callback {
  state: string | undefined;
  /** From the cookie of the browser that comes back. */
  browserSecret: string | undefined;
  /** The whole query, which the library reads itself. */
  query: string;
}

/**
 * Ends a sign-in: signs the identity's user in, or makes a user of an identity that is new. One that began with an
 * invitation accepts it.
 */
export async function finishIdentitySignIn(
  context: Context,
  parts: AuthParts,
  provider: IdentityProvider,
  callback: Callback,
  requestId: string,
) {
  const begun = await takeState(context, provider, callback);
  const address = new URL(begun.redirectUri);
  address.search = callback.query;
  const identity = await parts.providers.identify(provider, address, begun);
  if (begun.invitationId !== null) {
    return acceptThroughProvider(context, parts, begun.invitationId, identity, requestId);
  }
  const known = await store.findUserByIdentity(context.db, identity);
  if (known) return inTransaction(context.db, (tx) => signIn(tx, context, parts, known));
  return admit(context, parts, provider, identity, requestId);
}

/** A state serves once, even when the rest fails, and only in the browser that began. */
async function takeState({ db }: Context, { name }: IdentityProvider, { state, browserSecret }: Callback) {
  const hashes = state &&
    browserSecret && { stateHash: hashToken(state), browserHash: hashToken(browserSecret) };
  const taken = hashes && (await store.takeSignInState(db, { ...hashes, provider: name }, new Date()));
  if (!state || !taken) {
    throw new AppError(
      'AUTH_FAILED',
      `This sign-in did not begin in this browser, was used already or is older than ${SIGN_IN_SECONDS / 60} minutes. Start again.`,
    );
  }
  return {
    state,
    nonce: taken.nonce,
    codeVerifier: taken.code_verifier,
    redirectUri: taken.redirect_uri,
    invitationId: taken.invitation_id,
  };
}

async function signIn(tx: Tx, context: Context, parts: AuthParts, known: UserRow) {
  const user = await holdUser(tx, known.id);
  if (!user.active) throw new AppError('AUTH_FAILED', 'This user is disabled. Ask an administrator.');
  return startSession(tx, context, parts, user);
}

async function admit(
  context: Context,
  parts: AuthParts,
  { newcomers }: IdentityProvider,
  identity: ProvenIdentity,
  requestId: string,
) {
  if (!newcomers) refuseWhereClosed(context.config);
  const claims = await identity.readClaims();
  const profile = profileOf(claims);
  if (!profile) {
    throw new AppError('AUTH_FAILED', 'The identity provider gives no verified e-mail, which a user needs.');
  }
  return inTransaction(context.db, async (tx) => {
    await store.lockRegistration(tx);
    // Two callbacks of one new identity at once: the second finds what the first made.
    const known = await store.findUserByIdentity(tx, identity);
    if (known) return signIn(tx, context, parts, known);
    const role = newcomers && isOfDomain(claims, newcomers.domains) ? newcomers.role : undefined;
    const user = await admitNewcomer(tx, context, { ...profile, passwordHash: null }, requestId, role);
    await linkIdentity(tx, user.id, identity, requestId);
    return startSession(tx, context, parts, user);
  });
}

/** Creates the invited user, or links the identity to the invited one, and signs them in. */
async function acceptThroughProvider(
  context: Context,
  parts: AuthParts,
  invitationId: number,
  identity: ProvenIdentity,
  requestId: string,
) {
  const claims = await identity.readClaims();
  return inTransaction(context.db, async (tx) => {
    await store.lockRegistration(tx);
    const known = await store.findUserByIdentity(tx, identity);
    const invited = await takeInvited(tx, invitationId, claims, requestId);
    if (known && known.id !== invited.id) throw identityTaken();
    if (!known) await linkIdentity(tx, invited.id, identity, requestId);
    return signIn(tx, context, parts, invited);
  });
}

async function linkIdentity(
  tx: Tx,
  userId: number,
  identity: store.Identity,
  requestId: string,
): Promise<void> {
  const { issuer, subject } = identity;
  await store.insertIdentity(tx, userId, { issuer, subject });
  await audit(
    tx,
    { ...SYSTEM, requestId },
    {
      action: 'user.link_identity',
      resource: 'user',
      resourceId: userId,
      after: { issuer, subject },
    },
  );
}

function identityTaken(): AppError {
  return new AppError('DUPLICATE_ENTRY', 'Another user signs in with this identity already.', {
    details: { resource: 'identity', field: 'subject' },
  });
}

/** @throws AppError NOT_FOUND that says which variables would make a provider of that name. */
export function getIdentityProvider({ config }: Pick<Context, 'config'>, text: string): IdentityProvider {
  const name = text.toLowerCase();
  const provider = config.identityProviders.get(name);
  if (provider) return provider;
  const details = { resource: 'identity_provider', field: 'provider', id: text } as const;
  if (!canNameProvider(name)) {
    throw new AppError(
      'NOT_FOUND',
      'There is no GET at this address, nor can an identity provider have this name.',
      {
        details,
      },
    );
  }
  const missing = PROVIDER_PARTS.map((part) => providerVariable(name, part));
  throw new AppError(
    'NOT_FOUND',
    `There is no identity provider "${name}" here. To add it, set ${missing.join(', ')}.`,
    { details: { ...details, missing } },
  );
}
