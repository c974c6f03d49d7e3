import { Type } from 'typebox';
import { Choice } from '../core/http/fields.ts';
import { FILE_NAMES } from './format-rules.ts';

export const PortfolioFile = Choice('PortfolioFile', FILE_NAMES);

export const TemplateParams = Type.Object({ file: { ...PortfolioFile, examples: ['customers'] } });

export const TemplateFile = Type.String({
  examples: ['name,instalment,frequency\r\n"Weekly, one year",700.00,weekly\r\n'],
});

/** A ZIP file. */
export const Archive = Type.Unsafe<NodeJS.ReadableStream>({ type: 'string', format: 'binary' });
