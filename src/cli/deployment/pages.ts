/**
 * Reads the pages of a list, one after the other. `getPage` gets the position that the page before names as `next`;
 * undefined for the first page.
 */
export async function* readPages<Page extends { readonly next: string | null }>(
  getPage: (position: string | undefined) => Promise<Page>,
): AsyncGenerator<Page> {
  let position: string | undefined
  do {
    const page = await getPage(position)
    yield page
    position = page.next ?? undefined
  } while (position !== undefined)
}
