import { describe, expect, it } from 'vitest'
import { whenFree } from '../../src/sdk/node-files.ts'

/** Work that fails with a code as often as given. */
function failing(times: number, code: string) {
  const calls = { count: 0 }
  const work = () => {
    calls.count += 1
    return calls.count <= times ? Promise.reject(Object.assign(new Error(code), { code })) : Promise.resolve('done')
  }
  return { calls, work }
}

describe('work on a file that another process has open', () => {
  it.each(['EPERM', 'EACCES', 'EBUSY'])('is repeated on Windows after %s', async (code) => {
    expect(await whenFree(failing(2, code).work, 'win32')).toBe('done')
  })

  it.each([
    ['on Linux, where that is no reason to fail', 'EPERM', 'linux'],
    ['after another error', 'ENOSPC', 'win32'],
  ])('is not repeated %s', async (_, code, platform) => {
    const { calls, work } = failing(1, code)
    await expect(whenFree(work, platform)).rejects.toThrow(code)
    expect(calls.count).toBe(1)
  })

  it('fails in the end where the file stays open', async () => {
    await expect(whenFree(failing(Infinity, 'EBUSY').work, 'win32')).rejects.toThrow('EBUSY')
  })
})
