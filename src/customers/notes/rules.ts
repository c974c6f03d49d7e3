import { AppError } from '../../core/http/errors.ts';
import { mayDo, type Rights } from '../../rights.ts';

export const NOTE_ACTIONS = ['correct', 'pin', 'hide'] as const;
export type NoteAction = (typeof NOTE_ACTIONS)[number];

/** One note has at most this many corrections, so that an answer with all of them stays small. */
export const MAX_CORRECTIONS = 20;

/** Who reads or changes a note. */
interface Reader extends Rights {
  userId: number | null;
  apiKey?: { id: number; permissions: readonly string[] };
}

/** The facts about a note that decide what a user may do with it. */
export interface NoteState {
  created_by: number | null;
  api_key_id: number | null;
  hidden_at: string | null;
  correction_count: number;
}

/**
 * What the reader may do with a note. Only the author corrects a text, so that nobody puts words into the mouth of a colleague.
 * A hidden note does not change any more.
 */
export function allowedActions(reader: Reader, note: NoteState): NoteAction[] {
  if (note.hidden_at !== null) return [];
  const mayWrite = mayDo(reader, 'notes:write');
  return NOTE_ACTIONS.filter((action) => {
    switch (action) {
      case 'correct':
        return mayWrite && isAuthor(reader, note) && note.correction_count < MAX_CORRECTIONS;
      case 'pin':
        return mayWrite;
      case 'hide':
        return mayDo(reader, 'notes:hide');
    }
    return false;
  });
}

function isAuthor({ userId, apiKey }: Reader, { created_by, api_key_id }: NoteState): boolean {
  if (apiKey) return api_key_id === apiKey.id;
  return userId !== null && created_by === userId;
}

/** Whether the reader sees the text of a note. */
export function maySeeText(reader: Rights, { hidden_at }: Pick<NoteState, 'hidden_at'>): boolean {
  return hidden_at === null || mayDo(reader, 'notes:hide');
}

/** The error for an action that `allowedActions` does not contain, although the route allows it. */
export function refuseAction(action: NoteAction, note: NoteState): AppError {
  if (note.hidden_at !== null) {
    return new AppError('VALIDATION_ERROR', 'The note is hidden, so it cannot be changed. Write a new note.');
  }
  if (note.correction_count >= MAX_CORRECTIONS && action === 'correct') {
    return new AppError(
      'VALIDATION_ERROR',
      `The note was corrected ${MAX_CORRECTIONS} times, which is the maximum. Write a new note.`,
    );
  }
  return new AppError('FORBIDDEN', 'Only its author may correct a note. Write a new note.');
}
