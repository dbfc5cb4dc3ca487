/**
 * The devices and browsers that are signed in to a team. Its admins see whose they are and when they were last used,
 * and can sign one out. The person can sign in again; an admin who wants to prevent that removes the member.
 */
import { isUuid } from '../../kernel/uuid.ts'

/** Where a page of the list ends: the last use and the id of its last device. */
export type DevicePlace = { readonly lastSeenAt: Date; readonly id: string }

/** Writes where a page ends, for `readDevicePlace`. */
export function writeDevicePlace({ lastSeenAt, id }: DevicePlace): string {
  return `${lastSeenAt.getTime()}_${id}`
}

/** Reads where a page ends; null when the text is not what `writeDevicePlace` writes. */
export function readDevicePlace(text: string): DevicePlace | null {
  const [, time, id] = /^(\d{1,14})_(.*)$/.exec(text) ?? []
  return time === undefined || id === undefined || !isUuid(id) ? null : { lastSeenAt: new Date(Number(time)), id }
}
