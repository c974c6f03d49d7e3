export const invitations = {
  'invitations.title': 'Invitations',
  'invitations.none': 'Nobody was invited yet.',
  'invitations.new': 'Invite somebody',
  'invitations.new.lead': 'For people who sign in with an identity provider.',
  'invitations.submit': 'Create invitation',
  'invitations.days': 'Valid for days',
  'invitations.purpose': 'For',
  'invitations.token': 'Invitation token',
  'invitations.token.lead': 'Send it to the person by a safe way.',
  'invitations.revoke': 'Revoke invitation',
  'invitations.revoked': 'Invitation revoked',
} as const;
