import { type Static, type TSchema, Type } from 'typebox';
import { Email, NewPassword, Text } from '../core/fields.ts';

export const LoginBody = Type.Object({
  // Only bounded here: a wrong password is a wrong password, however short.
  email: Type.String({ maxLength: 254 }),
  password: Type.String({ maxLength: 1_000 }),
});

export const RegisterBody = Type.Object({
  email: Email,
  password: NewPassword,
  firstName: Text(100),
  lastName: Text(100),
});
export type Registration = Static<typeof RegisterBody>;

export const RefreshBody = Type.Object({ refreshToken: Type.String({ minLength: 1, maxLength: 200 }) });

export const PasswordBody = Type.Object({
  currentPassword: Type.String({ maxLength: 1_000 }),
  newPassword: NewPassword,
});

export const ProviderParams = Type.Object({
  provider: Type.String({ minLength: 1, maxLength: 100, description: 'Name of an identity provider.' }),
});

/** Providers add parameters of their own (session_state, scope, authuser, …), so others pass. */
export const CallbackQuery = Type.Object(
  {
    state: Type.Optional(Type.String({ maxLength: 200 })),
    code: Type.Optional(Type.String({ maxLength: 4_000 })),
    iss: Type.Optional(Type.String({ maxLength: 2_000 })),
    error: Type.Optional(Type.String({ maxLength: 200 })),
  },
  { additionalProperties: true },
);

/** The answer to every way of signing in. */
export function SignedIn<U extends TSchema>(user: U) {
  return Type.Object({
    accessToken: Type.String(),
    refreshToken: Type.String(),
    tokenType: Type.Literal('Bearer'),
    expiresIn: Type.Integer({ description: 'Seconds until the access token expires.' }),
    user,
  });
}
