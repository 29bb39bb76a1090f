import { messages } from '../messages.ts'

export const useCatalogText = messages({
  en: {
    catalog: 'Catalogue',
    about:
      'Zones, templates, presets and prices. What names files, networks and addresses of the host can be changed only there.',
    since: (time: string) => `In force since ${time}.`,
    fileFaults: 'The file on the host has been changed since, and is refused:',
    text: 'Text (YAML)',
    textHint: '*** stands for secrets; leave it as it is.',
    check: 'Check',
    discard: 'Discard changes',
    faults: 'Mistakes',
    differences: 'Changes',
    noDifferences: 'Nothing differs from the catalogue in force.',
    unchecked: (list: string) =>
      `These have a new source, whose files are not looked for: ${list}. Run berthd catalog check on the host.`,
    replace: 'Put it into force',
    replaceAbout:
      'New orders get it at once, and servers that exist cost the new prices from then on. The text before stays beside the file on the host.',
    replaced: 'The new catalogue is in force.',
  },
  ru: {
    catalog: 'Каталог',
    about:
      'Зоны, шаблоны, конфигурации и цены. То, что указывает на файлы, сети и адреса хоста, меняется только там.',
    since: (time: string) => `Действует с ${time}.`,
    fileFaults: 'С тех пор файл на хосте изменён, и он не принят:',
    text: 'Текст (YAML)',
    textHint: '*** стоит вместо секретов, оставьте как есть.',
    check: 'Проверить',
    discard: 'Отменить правку',
    faults: 'Ошибки',
    differences: 'Изменения',
    noDifferences: 'Отличий от действующего каталога нет.',
    unchecked: (list: string) =>
      `У них новый источник, его файлы не проверяются: ${list}. Выполните на хосте berthd catalog check.`,
    replace: 'Ввести в действие',
    replaceAbout:
      'Новые заказы пойдут по нему сразу, и существующие серверы с этого момента стоят по новым ценам. Прежний текст останется рядом с файлом на хосте.',
    replaced: 'Новый каталог действует.',
  },
})
