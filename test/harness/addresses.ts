import { type Catalog, parseCatalog } from '../../api/catalog/file.ts'
import { catalogText } from './app.ts'

/** The sample catalogue, whose zone has public addresses. @param ranges as the file has them, in a line each */
export function catalogWith(ranges: string): Catalog {
  const lines = ranges.replaceAll('\n', '\n    ')
  return parseCatalog(catalogText.replace('overcommit:', `${lines}\n    overcommit:`), 'catalog.yaml')
}
