import { randomBytes } from 'node:crypto';
import { link, mkdir, open, readFile, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname } from 'node:path';
import { hasCode, whenFree, writeContent } from "./node-files.js";
/** A lock file that its holder has not touched for this long belongs to a process that died. */
const STALE_MS = 10_000;
const HEARTBEAT_MS = 2_000;
const RETRY_MS = 25;
/** Runs a task while no other process runs one with the lock of this file, which is a file beside it (`FILE.lock`). */
export async function withLock(file, task) {
    const unlock = await lock(`${file}.lock`);
    try {
        return await task();
    }
    finally {
        await unlock();
    }
}
/** Waits until the lock file can be created. Returns the function that removes it. */
async function lock(file) {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const mine = randomBytes(12).toString('hex');
    while (!(await take(file, mine))) {
        await removeStale(file);
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
    const heartbeat = setInterval(() => void utimes(file, new Date(), new Date()).catch(() => { }), HEARTBEAT_MS);
    heartbeat.unref();
    return async () => {
        clearInterval(heartbeat);
        // If this process was taken for dead, the lock file belongs to another process now.
        if ((await readFile(file, 'utf8').catch(() => '')) === mine)
            await whenFree(() => rm(file, { force: true }));
    };
}
async function take(file, mine) {
    try {
        const handle = await whenFree(() => open(file, 'wx', 0o600));
        try {
            await writeContent(handle, file, mine);
        }
        catch (error) {
            // Otherwise the next caller would wait until the file is stale.
            await rm(file, { force: true });
            throw error;
        }
        finally {
            await handle.close();
        }
        return true;
    }
    catch (error) {
        if (hasCode(error, 'EEXIST'))
            return false;
        throw error;
    }
}
/**
 * Moves a stale lock file away. If another process has replaced it by a fresh one in the meantime, puts that one back.
 * Rejects where it cannot be moved, such as on a disk that is read-only: the caller would never get the lock.
 */
async function removeStale(file) {
    if (!(await isStale(file)))
        return;
    const aside = `${file}.${randomBytes(6).toString('hex')}.stale`;
    try {
        await whenFree(() => rename(file, aside));
    }
    catch (error) {
        // Another process has moved it.
        if (hasCode(error, 'ENOENT'))
            return;
        throw error;
    }
    if (!(await isStale(aside)))
        await link(aside, file).catch(() => { });
    await rm(aside, { force: true });
}
async function isStale(file) {
    const found = await stat(file).catch(() => null);
    // A time in the future is from before the clock was set back.
    return found !== null && Math.abs(Date.now() - found.mtimeMs) > STALE_MS;
}
