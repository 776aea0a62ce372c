// Where the parts of a history lie below the data directory.

import { join } from 'node:path';
import { AppError } from '../base/errors.ts';

export const recordsDirectory = (directory: string): string => join(directory, 'history');
export const blobsDirectory = (directory: string): string => join(recordsDirectory(directory), 'blobs');
/** The file of the database. */
export const RECORDS_FILE = 'data.mdb';
export const recordsFile = (directory: string): string => join(recordsDirectory(directory), RECORDS_FILE);
/** A new database in the making; it takes the place of the old one by a rename, and means nothing before. */
export const renewalDirectory = (directory: string): string => join(recordsDirectory(directory), 'renewal');

export const noHistory = (directory: string): AppError =>
  new AppError(
    'notFound',
    `there is no history in ${directory}; \`--data-dir\` or HEDDLE_HOME names another directory`,
  );
