import { readFile, realpath, stat } from 'node:fs/promises'
import path from 'node:path'
import { replaceDurably } from '../files.ts'

/** The file's text differs from the one on which a change was based. */
export class FileChanged extends Error {}

/** The file with the catalogue that was in force before the operator's API changed it. */
export function previousCatalog(file: string): string {
  const { dir, name, ext } = path.parse(file)
  return path.join(dir, `${name}.previous${ext}`)
}

export interface Replacement {
  text: string
  /** The text that the file must have. */
  base: string
  /** True if `base` was refused, so that no copy of it is kept (default: false). */
  isUndo?: boolean
}

/**
 * Replaces the catalogue's file as a whole, and keeps its text beside it. Mode and owner stay the same. If
 * the file is a link, its target is replaced.
 * @throws FileChanged if the file has another text than `base`; Error of the system if it can't be written
 */
export async function replaceCatalog(
  link: string,
  { text, base, isUndo = false }: Replacement,
): Promise<void> {
  const file = await realpath(link)
  if ((await readFile(file, 'utf8')) !== base) throw new FileChanged()
  const like = await stat(file)
  if (!isUndo) await replaceDurably(previousCatalog(file), base, like)
  await replaceDurably(file, text, like)
}
