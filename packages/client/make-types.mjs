import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';

// Makes the types of the API from its description. Several processes may do so at the same time, and others may be reading the file.
const types = new URL('src/generated/api.ts', import.meta.url);
const text = astToString(await openapiTS(new URL('../../openapi.json', import.meta.url)));
if (!existsSync(types) || readFileSync(types, 'utf8') !== text) {
  const unfinished = new URL(`api.${process.pid}.unfinished`, types);
  writeFileSync(unfinished, text);
  renameSync(unfinished, types);
}
