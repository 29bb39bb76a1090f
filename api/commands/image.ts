import { Command } from 'commander'
import { imagesOf } from '../catalog/file.ts'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { messageOf } from '../message-of.ts'
import { catalogInForce } from './catalog.ts'
import { openImages } from './compute.ts'
import { requireInstallation } from './installation.ts'
import type { ReadConfig } from './operator.ts'
import { printTable } from './print.ts'

async function listImages(config: Config): Promise<void> {
  requireInstallation(config)
  const images = openImages(config, () => {})
  const { catalog, fault } = await catalogInForce(config)
  const listed = await Promise.all(
    imagesOf(catalog).map(async ({ slug, image }) => ({ slug, image, state: await images.state(image) })),
  )
  const rows = listed.map(({ slug, image, state }) => [
    slug,
    state.state,
    state.state === 'ready' ? `${Math.ceil(state.bytes / 2 ** 20)} MB` : '',
    image.sources.map((source) => source.type).join(', '),
  ])
  printTable(['SLUG', 'STATE', 'SIZE', 'SOURCES'], rows)
  for (const { slug, state } of listed)
    if (state.state === 'failed') console.log(`\n${slug}: ${state.message}`)
  await images.close()
  if (fault)
    throw new CommandError(`\nThis is the last good catalogue, because the file is invalid:\n${fault}`)
}

export function imageCommands(config: ReadConfig): Command {
  const image = new Command('image').description('manage the images of templates, and ISOs')
  image
    .command('list')
    .description('list the images of all templates, and the ISOs, with their state')
    .action(() => listImages(config()))
  const prepare = async (slug: string, onlyBuild: boolean) => {
    const parsed = config()
    requireInstallation(parsed)
    const { catalog } = await catalogInForce(parsed)
    const offer = imagesOf(catalog).find((candidate) => candidate.slug === slug)
    if (!offer) throw new ConfigError(`No such template or ISO: ${slug}. List them with: berthd image list`)
    const sources = onlyBuild
      ? offer.image.sources.filter((source) => source.type === 'build')
      : offer.image.sources
    if (sources.length === 0) throw new ConfigError(`${slug} has no build source in ${parsed.catalogFile}.`)
    const images = openImages(parsed, (line) => console.error(line))
    let last = ''
    const stored = await images
      .wait({ ...offer.image, sources }, ({ detail }) => {
        if (detail !== last) console.error(detail)
        last = detail
      })
      .catch((error: unknown) => {
        throw new CommandError(messageOf(error))
      })
      .finally(() => images.close())
    console.log(`${slug} is ready: ${stored.id}`)
  }
  image
    .command('pull')
    .description("prepare a template's image, or an ISO, from the first source that works")
    .argument('<slug>')
    .action((slug: string) => prepare(slug, false))
  image
    .command('build')
    .description("build a template's image from the distribution's packages")
    .argument('<template>')
    .action((slug: string) => prepare(slug, true))
  return image
}
