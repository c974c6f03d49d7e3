import { type Static, Type } from 'typebox';
import { examplesOf } from '../../core/http/envelope.ts';
import { Choice, Email, NewPassword, Nullable, Text } from '../../core/http/fields.ts';
import { PERMISSIONS, permissionsOf } from '../../rights.ts';
import { User } from '../users/schema.ts';

/** The limit for the bodies of the public sign-in routes. */
export const BODY_LIMIT_BYTES = 16 * 1024;

export const LoginBody = Type.Object(
  {
    // Only the length is checked, so that a value of any form gets the answer for a wrong password.
    email: Type.String({ maxLength: 254 }),
    password: Type.String({ maxLength: 1_000 }),
  },
  { title: 'Login', examples: [{ email: 'amina@example.com', password: 'a long enough password' }] },
);

export const RegisterBody = Type.Object(
  {
    email: Email,
    password: NewPassword,
    firstName: Text(100),
    lastName: Text(100),
    invitation: Type.Optional(
      Type.String({
        maxLength: 200,
        description: 'The token of an invitation to this e-mail. It also works when registration is closed.',
      }),
    ),
  },
  {
    title: 'Registration',
    examples: [
      {
        email: 'amina@example.com',
        password: 'a long enough password',
        firstName: 'Amina',
        lastName: 'Otieno',
      },
    ],
  },
);
export type Registration = Static<typeof RegisterBody>;

export const RefreshBody = Type.Object(
  { refreshToken: Type.String({ minLength: 1, maxLength: 200 }) },
  { title: 'Refresh', examples: [{ refreshToken: 'the newest refreshToken' }] },
);

export const PasswordBody = Type.Object(
  {
    currentPassword: Type.String({ maxLength: 1_000 }),
    newPassword: NewPassword,
  },
  {
    title: 'PasswordChange',
    examples: [{ currentPassword: 'a long enough password', newPassword: 'an even longer password' }],
  },
);

export const ProviderParams = Type.Object({
  provider: Type.String({
    minLength: 1,
    maxLength: 100,
    description: 'The name of an identity provider.',
    examples: ['google'],
  }),
});

export const SignInQuery = Type.Object({
  invitation: Type.Optional(
    Type.String({
      maxLength: 200,
      description:
        'The token of an invitation. A successful sign-in accepts the invitation. See `POST /api/users/invitations`.',
    }),
  ),
  mode: Type.Optional(
    Choice('SignInMode', ['browser'], {
      description:
        '`browser`: after the sign-in, the service sets the session cookie of `POST /api/auth/session` and redirects to `/`. After a ' +
        'failure it redirects to `/?signInError=` with the error code.',
    }),
  ),
});

/** Providers add further parameters (session_state, scope, authuser, …). */
export const CallbackQuery = Type.Object(
  {
    state: Type.Optional(Type.String({ maxLength: 200 })),
    code: Type.Optional(Type.String({ maxLength: 4_000 })),
    iss: Type.Optional(Type.String({ maxLength: 2_000 })),
    error: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: true },
);

/** The answer to every sign-in. */
export const SignedIn = Type.Object(
  {
    accessToken: Type.String(),
    refreshToken: Type.String(),
    tokenType: Type.Literal('Bearer'),
    expiresIn: Type.Integer({ description: 'Seconds until the access token expires.' }),
    user: User,
  },
  {
    title: 'SignedIn',
    examples: examplesOf(User).map((user) => ({
      accessToken: 'eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIxIn0.signature',
      refreshToken: 'tbmf5ohPiwqfqg1tWk0urHCaiwYix3lrckwQfcL3G9M',
      tokenType: 'Bearer',
      expiresIn: 3600,
      user,
    })),
  },
);

const Permissions = Type.Array(Choice('Permission', PERMISSIONS), {
  description: 'What the role of the user may do.',
});

export const SignedInUser = Type.Object(
  { ...User.properties, permissions: Permissions },
  {
    title: 'SignedInUser',
    examples: examplesOf(User).map((user) => ({ ...(user as object), permissions: permissionsOf('admin') })),
  },
);

export const BrowserSession = Type.Object(
  {
    user: User,
    permissions: Permissions,
    accessToken: Type.String(),
    expiresIn: Type.Integer({ description: 'Seconds until the access token expires.' }),
  },
  {
    title: 'BrowserSession',
    examples: examplesOf(User).map((user) => ({
      user,
      permissions: permissionsOf('admin'),
      accessToken: 'eyJhbGciOiJIUzI1NiIsInR5cCI6ImF0K2p3dCJ9.eyJzdWIiOiIxIn0.signature',
      expiresIn: 3600,
    })),
  },
);

export const SignedOut = Type.Object(
  { providerSignOut: Nullable(Type.Object({ provider: Type.String(), url: Type.String() })) },
  {
    title: 'SignedOut',
    examples: [
      { providerSignOut: null },
      {
        providerSignOut: {
          provider: 'keycloak',
          url: 'https://login.example.com/realms/staff/protocol/openid-connect/logout?post_logout_redirect_uri=https%3A%2F%2Fams.example.com%2F&client_id=ams',
        },
      },
    ],
  },
);

export const NobodySignedIn = Type.Object({ user: Type.Null() }, { title: 'NobodySignedIn' });
