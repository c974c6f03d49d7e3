import { type Static, Type } from 'typebox';
import type { InvitationPurpose } from '../../core/database/tables.ts';
import { Choice, Email, Id, Nullable, Timestamp } from '../../core/http/fields.ts';
import { defineList } from '../../core/lists/query.ts';
import { emailKey } from '../../core/values/email.ts';
import { USER_ROLES } from '../../rights.ts';
import { DEFAULT_DAYS, INVITATION_STATUSES, MAX_DAYS } from './invitation-rules.ts';

const PURPOSES = ['sign_up', 'link_identity'] as const satisfies InvitationPurpose[];

const Role = Choice('Role', USER_ROLES);
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
  purpose: Choice('InvitationPurpose', PURPOSES, {
    description:
      '`sign_up` creates a user. `link_identity` allows an existing user to sign in through an identity provider.',
  }),
  email: Type.String({ description: 'The e-mail of the invited person.' }),
  role: Nullable(Choice('Role', USER_ROLES, { description: 'The role of the user that sign_up creates.' })),
  employeeId: Nullable(Type.Integer()),
  userId: Nullable(Type.Integer({ description: 'The user that link_identity invites or sign_up creates.' })),
  status: Choice('InvitationStatus', INVITATION_STATUSES),
  expiresAt: Timestamp,
  acceptedAt: Nullable(Timestamp),
  revokedAt: Nullable(Timestamp),
  createdBy: Nullable(Type.Integer({ description: 'The user who created the invitation.' })),
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

export const invitationList = defineList(
  {
    id: { kind: 'id', column: 'i.id' },
    purpose: { kind: 'enum', column: 'i.purpose', values: PURPOSES },
    email: { kind: 'text', column: 'i.email', key: { column: 'i.email_key', of: emailKey } },
    role: { kind: 'enum', column: 'i.role', values: USER_ROLES, nullable: true },
    userId: { kind: 'id', column: 'i.user_id', nullable: true },
    status: { kind: 'enum', values: INVITATION_STATUSES },
    expiresAt: { kind: 'timestamp', column: 'i.expires_at' },
    createdAt: { kind: 'timestamp', column: 'i.created_at' },
    updatedAt: { kind: 'timestamp', column: 'i.updated_at' },
  },
  {},
);
