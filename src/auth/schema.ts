import { type Static, Type } from 'typebox';
import { Email, Id, Nullable, Text, Timestamp } from '../core/fields.ts';

export const ROLES = ['admin', 'manager', 'finance', 'agent', 'viewer'] as const;

export const PASSWORD_MIN = 8;
export const PASSWORD_MAX = 128;
const NewPassword = Type.String({ minLength: PASSWORD_MIN, maxLength: PASSWORD_MAX });

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

export const User = Type.Object({
  id: Id,
  email: Type.String(),
  firstName: Type.String(),
  lastName: Type.String(),
  role: Type.Enum([...ROLES]),
  active: Type.Boolean(),
  employeeId: Nullable(Type.Integer()),
  createdAt: Timestamp,
  updatedAt: Timestamp,
});

export const SignedIn = Type.Object({
  accessToken: Type.String(),
  refreshToken: Type.String(),
  tokenType: Type.Literal('Bearer'),
  expiresIn: Type.Integer({ description: 'Seconds until the access token expires.' }),
  user: User,
});
