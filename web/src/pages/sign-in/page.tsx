import { useState } from 'react';
import { type Problem, problemOf } from '../../api/problem.ts';
import { sessionHasEnded, signIn } from '../../api/session.ts';
import { settings } from '../../api/settings.ts';
import { t } from '../../i18n/index.ts';
import { LanguageChoice } from '../../preferences.tsx';
import { Notice } from '../../ui/feedback.tsx';
import { Form, FormButtons, TextField } from '../../ui/form.tsx';

/** Shown in place of any page while nobody is signed in. */
export function Page({ onLanguageChange }: { onLanguageChange(): void }) {
  const [problem, setProblem] = useState<Problem>();
  const [isSending, setIsSending] = useState(false);
  const { companyName } = settings();
  return (
    <main className="sign-in">
      <div className="sign-in-box">
        <p className="brand">
          <span className="brand-mark" aria-hidden="true" />
          <span>{companyName}</span>
        </p>
        <h1>{t('session.title')}</h1>
        <p className="muted">{t('session.lead')}</p>
        {sessionHasEnded() && <Notice tone="info">{t('session.ended')}</Notice>}
        <Form
          problem={problem}
          isSending={isSending}
          onSubmit={async (values) => {
            setIsSending(true);
            // A password may begin or end with spaces.
            const credentials = { email: values.text('email'), password: values.raw('password') };
            await signIn(credentials).catch((error: unknown) => setProblem(explain(error)));
            setIsSending(false);
          }}
        >
          <TextField
            label={t('session.email')}
            name="email"
            type="email"
            autoComplete="username"
            required
            autoFocus
          />
          <TextField
            label={t('session.password')}
            name="password"
            type="password"
            autoComplete="current-password"
            required
          />
          <FormButtons submit={t('session.submit')} />
        </Form>
        <IdentityProviders />
        <LanguageChoice onChange={onLanguageChange} />
      </div>
    </main>
  );
}

function IdentityProviders() {
  const { identityProviders } = settings();
  if (identityProviders.length === 0) return null;
  return (
    <div className="providers">
      <p className="divider">{t('session.or')}</p>
      {identityProviders.map(({ name }) => (
        <a key={name} className="button secondary" href={`/api/auth/${name}`}>
          {t('session.with', { provider: name.charAt(0).toUpperCase() + name.slice(1) })}
        </a>
      ))}
    </div>
  );
}

/** The service does not say whether the e-mail or the password is wrong. */
function explain(error: unknown): Problem | undefined {
  const problem = problemOf(error);
  if (problem?.code === 'CONNECTION')
    return { ...problem, code: 'INTERNAL_ERROR', message: t('session.unavailable') };
  if (problem?.code === 'AUTH_FAILED') return { ...problem, message: t('session.failed') };
  if (problem?.code === 'RATE_LIMITED') return { ...problem, message: t('session.tooMany') };
  return problem;
}
