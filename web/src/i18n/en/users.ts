export const users = {
  'users.new': 'New user',
  'users.new.lead': 'Give them the password in person. They can change it after signing in.',
  'users.password': 'Password',
  'users.password.hint': 'Choose several words that nobody would guess.',
  'users.newPassword': 'New password',
  'users.newPassword.hint': 'Leave it empty to keep the password. A new one ends all sessions of the user.',
  'users.active': 'May sign in',
  'field.firstName': 'First name',
  'field.lastName': 'Last name',
} as const;
