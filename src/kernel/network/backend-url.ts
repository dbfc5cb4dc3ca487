/**
 * The `/v1` with which vendors end their addresses. The URLs of backends go without it, because the paths of calls
 * begin with it.
 */
export const VERSION_AT_END = /\/v1\/*$/
