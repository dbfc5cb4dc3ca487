import { ConfigError } from '../config.ts'
import { BackupError } from '../database/backup.ts'
import { DatabaseCrashError, DatabaseOpenError } from '../database/client.ts'
import { DirectoryInUseError } from '../database/lock.ts'
import { MigrationError } from '../database/migrations.ts'
import { DirectoryFileError } from '../server/directory-file.ts'
import { AddressError } from '../server/listener.ts'
import { ManagementError } from '../server/management.ts'
import { PricesFileError } from '../server/prices-file.ts'
import { ProcessStartError } from '../server/processes.ts'
import { TourError } from './demo/tour.ts'

const OPERATOR_ERRORS = [
  ConfigError,
  DirectoryFileError,
  PricesFileError,
  AddressError,
  DatabaseOpenError,
  DatabaseCrashError,
  BackupError,
  DirectoryInUseError,
  MigrationError,
  ManagementError,
  ProcessStartError,
  TourError,
]

/** Whether the operator can resolve an error. Its message says how. */
export function isOperatorError(error: unknown): error is Error {
  return OPERATOR_ERRORS.some((kind) => error instanceof kind)
}
