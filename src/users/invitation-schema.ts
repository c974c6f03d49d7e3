import { sql } from 'kysely';
import { type Static, Type } from 'typebox';
import type { InvitationPurpose } from '../core/database/tables.ts';
import { Email, Id, Nullable, Timestamp } from '../core/http/fields.ts';
import { column, defineList } from '../core/lists/query.ts';
import { emailKey } from '../core/values/email.ts';
import { USER_ROLES } from '../rights.ts';
import { DEFAULT_DAYS, INVITATION_STATUSES, type InvitationStatus, MAX_DAYS } from './invitation-rules.ts';

const PURPOSES = ['sign_up', 'link_identity'] as const satisfies InvitationPurpose[];

const Role = Type.Enum([...USER_ROLES]);
const expiry = {
  expiresInDays: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_DAYS, description: `Default: ${DEFAULT_DAYS}.` }),
  ),
};

export const NewInvitation = Type.Object(
  { email: Email, role: Role, employeeId: Type.Optional(Nullable(Id)), ...expiry },
  {
    title: 'NewInvitation',
    examples: [{ email: 'njeri@example.com', role: 'agent', employeeId: 1, expiresInDays: 3 }],
  },
);
export type NewInvitation = Static<typeof NewInvitation>;

export const NewIdentityInvitation = Type.Object(expiry, {
  title: 'NewIdentityInvitation',
  examples: [{ expiresInDays: 3 }],
});
export type NewIdentityInvitation = Static<typeof NewIdentityInvitation>;

const invitationProperties = {
  id: Id,
  purpose: Type.Enum([...PURPOSES], {
    description:
      'sign_up creates a user; link_identity lets an existing user sign in through an identity provider.',
  }),
  email: Type.String({ description: 'The e-mail of the invited person.' }),
  role: Nullable(Type.Enum([...USER_ROLES], { description: 'The role of the user that sign_up creates.' })),
  employeeId: Nullable(Type.Integer()),
  userId: Nullable(Type.Integer({ description: 'The user to link, or the user who signed up.' })),
  status: Type.Enum(INVITATION_STATUSES),
  expiresAt: Timestamp,
  acceptedAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
  createdBy: Nullable(Type.Integer({ description: 'The user who invited.' })),
  createdAt: Timestamp,
  updatedAt: Timestamp,
};

const example = {
  id: 1,
  purpose: 'sign_up',
  email: 'njeri@example.com',
  role: 'agent',
  employeeId: 1,
  userId: null,
  status: 'pending',
  expiresAt: '2026-11-05T08:15:30.000Z',
  acceptedAt: null,
  revokedAt: null,
  createdBy: 1,
  createdAt: '2026-11-02T08:15:30.000Z',
  updatedAt: '2026-11-02T08:15:30.000Z',
};

export const Invitation = Type.Object(invitationProperties, { title: 'Invitation', examples: [example] });
export type Invitation = Static<typeof Invitation>;

export const IssuedInvitation = Type.Object(
  {
    ...invitationProperties,
    token: Type.String({
      description: 'Works once. It is shown only here, because only its hash is stored.',
    }),
  },
  {
    title: 'IssuedInvitation',
    examples: [{ ...example, token: 'kq3f0Zk2lq6cJ0m1vQv9dJrUOa1T6u7mTn2b8m5uYxE' }],
  },
);

/** Invitations expire by real time, as everything about sign-in does. */
export const STATUS_NOW = sql<InvitationStatus>`case
  when i.accepted_at is not null then 'accepted'
  when i.revoked_at is not null then 'revoked'
  when i.expires_at <= now() then 'expired'
  else 'pending' end`;

export const invitationList = defineList(
  {
    id: { kind: 'id', column: column('i.id') },
    purpose: { kind: 'enum', column: column('i.purpose'), values: PURPOSES, sqlType: 'invitation_purpose' },
    email: {
      kind: 'text',
      column: column('i.email'),
      key: { column: column('i.email_key'), of: emailKey },
    },
    role: {
      kind: 'enum',
      column: column('i.role'),
      values: USER_ROLES,
      sqlType: 'user_role',
      nullable: true,
    },
    userId: { kind: 'id', column: column('i.user_id'), nullable: true },
    status: { kind: 'enum', column: STATUS_NOW, values: INVITATION_STATUSES, sqlType: 'text' },
    expiresAt: { kind: 'timestamp', column: column('i.expires_at') },
    createdAt: { kind: 'timestamp', column: column('i.created_at') },
    updatedAt: { kind: 'timestamp', column: column('i.updated_at') },
  },
  {},
);
