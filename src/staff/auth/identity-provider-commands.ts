import { event } from '../../changes/events/change-rules.ts';
import { audit } from '../../changes/events/change-store.ts';
import { type Context, SYSTEM } from '../../core/context.ts';
import type { Tx } from '../../core/database/db.ts';
import { inTransaction } from '../../core/database/transactions.ts';
import { AppError } from '../../core/http/errors.ts';
import { hashToken } from '../../core/values/secret.ts';
import { lockUserAgainstChanges, type UserRow } from '../users/store.ts';
import { isOfDomain, profileOf } from './claims-rules.ts';
import type { AuthParts } from './commands.ts';
import {
  canNameProvider,
  type IdentityProvider,
  PROVIDER_PARTS,
  providerVariable,
} from './identity-provider-rules.ts';
import { newSignInSecrets, type ProvenIdentity } from './identity-providers.ts';
import {
  createUninvitedUser,
  findInvitation,
  findOrCreateInvitedUser,
  refuseIfClosed,
} from './registration-commands.ts';
import { startSession } from './session-commands.ts';
import * as store from './store.ts';

export const SIGN_IN_SECONDS = 10 * 60;

interface SignInStart {
  redirectUri: string;
  browserSecret: string;
  /** The token of an invitation. */
  invitation?: string | undefined;
}

/**
 * Starts a sign-in and stores the state that the callback must match.
 *
 * @param browserSecret - the secret in the cookie that binds the sign-in to this browser.
 * @returns the provider's address for the browser.
 */
export async function startProviderSignIn(
  { db }: Context,
  { providers }: AuthParts,
  provider: IdentityProvider,
  { redirectUri, browserSecret, invitation: invitationToken }: SignInStart,
): Promise<URL> {
  const invitation = invitationToken === undefined ? undefined : await findInvitation(db, invitationToken);
  const secrets = newSignInSecrets();
  const location = await providers.authorizationUrl(provider, redirectUri, secrets);
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
  return location;
}

interface Callback {
  state: string | undefined;
  /** From the sign-in cookie. */
  browserSecret: string | undefined;
  /** The complete query string, which the OpenID Connect library parses. */
  query: string;
}

/** Signs in the user of an identity, creates a user for a new identity, or accepts the invitation of the sign-in. */
export async function finishProviderSignIn(
  context: Context,
  parts: AuthParts,
  provider: IdentityProvider,
  callback: Callback,
  requestId: string,
) {
  const started = await takeState(context, provider, callback);
  const address = new URL(started.redirectUri);
  address.search = callback.query;
  const identity = await parts.providers.identify(provider, address, started);
  if (started.invitationId !== null) {
    return acceptThroughProvider(context, parts, provider, started.invitationId, identity, requestId);
  }
  const known = await store.findUserByIdentity(context.db, identity);
  if (known) return inTransaction(context.db, (tx) => signIn(tx, context, parts, provider, known));
  return signInNewIdentity(context, parts, provider, identity, requestId);
}

/** A state works once, and only in the browser that started the sign-in. A failed sign-in also uses up the state. */
async function takeState({ db }: Context, { name }: IdentityProvider, { state, browserSecret }: Callback) {
  const hashes = state &&
    browserSecret && { stateHash: hashToken(state), browserHash: hashToken(browserSecret) };
  const taken = hashes && (await store.takeSignInState(db, { ...hashes, provider: name }, new Date()));
  if (!state || !taken) {
    throw new AppError(
      'AUTH_FAILED',
      `This sign-in was not started in this browser, was used already or is older than ${SIGN_IN_SECONDS / 60} minutes. Start again.`,
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

async function signIn(
  tx: Tx,
  context: Context,
  parts: AuthParts,
  { name: identityProvider }: IdentityProvider,
  known: UserRow,
) {
  const user = await lockUserAgainstChanges(tx, known.id);
  if (!user.active) throw new AppError('AUTH_FAILED', 'This user is disabled. Ask an administrator.');
  return startSession(tx, context, parts, user, { identityProvider });
}

async function signInNewIdentity(
  context: Context,
  parts: AuthParts,
  provider: IdentityProvider,
  identity: ProvenIdentity,
  requestId: string,
) {
  const { name: identityProvider, domainAdmission } = provider;
  if (!domainAdmission) refuseIfClosed(context.config);
  const claims = await identity.readClaims();
  const profile = profileOf(claims);
  if (!profile) {
    throw new AppError(
      'AUTH_FAILED',
      'The identity provider sent no verified e-mail address. Signing in needs one.',
    );
  }
  return inTransaction(context.db, async (tx) => {
    await store.lockRegistration(tx);
    // A concurrent callback may have created the user of this identity.
    const known = await store.findUserByIdentity(tx, identity);
    if (known) return signIn(tx, context, parts, provider, known);
    const role =
      domainAdmission && isOfDomain(claims, domainAdmission.domains) ? domainAdmission.role : undefined;
    const user = await createUninvitedUser(tx, context, { ...profile, passwordHash: null }, requestId, role);
    await linkIdentity(tx, user.id, identity, requestId);
    return startSession(tx, context, parts, user, { identityProvider });
  });
}

async function acceptThroughProvider(
  context: Context,
  parts: AuthParts,
  provider: IdentityProvider,
  invitationId: number,
  identity: ProvenIdentity,
  requestId: string,
) {
  const claims = await identity.readClaims();
  return inTransaction(context.db, async (tx) => {
    await store.lockRegistration(tx);
    const known = await store.findUserByIdentity(tx, identity);
    const invited = await findOrCreateInvitedUser(tx, invitationId, claims, requestId);
    if (known && known.id !== invited.id) throw identityTaken();
    if (!known) await linkIdentity(tx, invited.id, identity, requestId);
    return signIn(tx, context, parts, provider, invited);
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
  const entry = { action: 'user.link_identity', resource: 'user', resourceId: userId } as const;
  const after = { issuer, subject };
  await audit(tx, { ...SYSTEM, requestId }, { ...entry, after, event: event('user.identity_linked', {}) });
}

function identityTaken(): AppError {
  return new AppError('DUPLICATE_ENTRY', 'Another user already signs in with this identity.', {
    details: { resource: 'identity', field: 'subject' },
  });
}

/** @throws AppError NOT_FOUND for an unknown provider. For an allowed name, the error lists the settings that add the provider. */
export function getIdentityProvider({ config }: Pick<Context, 'config'>, text: string): IdentityProvider {
  const name = text.toLowerCase();
  const provider = config.identityProviders.get(name);
  if (provider) return provider;
  const details = { resource: 'identity_provider', field: 'provider', id: text } as const;
  if (!canNameProvider(name)) {
    const message =
      'There is no such page: the part after /auth/ cannot be the name of an identity provider.';
    throw new AppError('NOT_FOUND', message, { details });
  }
  const missing = PROVIDER_PARTS.map((part) => providerVariable(name, part));
  throw new AppError(
    'NOT_FOUND',
    `There is no identity provider "${name}". To add it, set ${missing.join(', ')}.`,
    { details: { ...details, missing } },
  );
}
