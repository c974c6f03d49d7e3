import { Notice } from '../../ui/feedback.tsx';

/** Reasons to check a payment or a notification. */
export function Warnings({ texts }: { texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <Notice tone="warning">
      {texts.map((text) => (
        <p key={text}>{text}</p>
      ))}
    </Notice>
  );
}
