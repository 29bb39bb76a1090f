import type { DocumentDetails } from './schema.ts'

type Language = DocumentDetails['language']
type ItemType = DocumentDetails['projects'][number]['items'][number]['item_type']
type EntryType = DocumentDetails['entries'][number]['type']

interface Text {
  types: Record<DocumentDetails['type'], string>
  /** The title, with the number and the day of issue. */
  title: (type: string, number: string, day: string) => string
  period: (month: string) => string
  /** The corrected invoice; `isRise` of debit notes. */
  corrects: (number: string, day: string, isRise: boolean) => string
  reason: string
  before: string
  change: string
  afterwards: string
  isAddedToChange: string
  balanceBefore: string
  balanceAfter: string
  seller: string
  customer: string
  taxId: (id: string) => string
  account: (id: string) => string
  item: string
  hours: string
  amount: string
  deletedProject: string
  items: Record<ItemType, string>
  more: (count: number) => string
  net: string
  vat: (percent: string) => string
  noVat: string
  total: string
  isIncluded: string
  isAdded: string
  balance: string
  opening: (day: string) => string
  charges: string
  entries: Record<EntryType, string>
  closing: string
  hash: (sha256: string) => string
  page: (number: number, of: number) => string
}

const english: Text = {
  types: {
    invoice: 'Invoice',
    statement: 'Statement',
    credit_note: 'Credit note',
    debit_note: 'Debit note',
  },
  title: (type, number, day) => `${type} No. ${number} of ${day}`,
  period: (month) => `For ${month} (UTC)`,
  corrects: (number, day) => `Corrects invoice No. ${number} of ${day}`,
  reason: 'Reason',
  before: 'Before',
  change: 'Change',
  afterwards: 'After',
  isAddedToChange: 'VAT is added to the amounts of the items.',
  balanceBefore: 'Balance before',
  balanceAfter: 'Balance after',
  seller: 'Seller',
  customer: 'Customer',
  taxId: (id) => `Tax id ${id}`,
  account: (id) => `Account ${id}`,
  item: 'Item',
  hours: 'Hours',
  amount: 'Amount, RUB',
  deletedProject: 'Deleted project',
  items: {
    server: 'Server',
    address: 'Public address',
    snapshot: 'Snapshot',
    volume: 'Volume',
    image: 'Image',
    iso: 'ISO',
    backup: 'Backups',
  },
  more: (count) => `${count} more`,
  net: 'Without VAT',
  vat: (percent) => `VAT ${percent} %`,
  noVat: 'No VAT is charged.',
  total: 'Total',
  isIncluded: 'The amounts of the items include VAT.',
  isAdded: 'VAT is added to the amounts of the items, and debited from the balance on the day of issue.',
  balance: 'Balance',
  opening: (day) => `Opening balance, ${day}`,
  charges: 'Charges',
  entries: { payment: 'Payment', refund: 'Refund', correction: 'Correction' },
  closing: 'Closing balance',
  hash: (sha256) => `Data: SHA-256 ${sha256}`,
  page: (number, of) => `Page ${number} of ${of}`,
}

const russian: Text = {
  types: {
    invoice: 'Счёт',
    statement: 'Выписка',
    credit_note: 'Корректировочный счёт',
    debit_note: 'Корректировочный счёт',
  },
  title: (type, number, day) => `${type} № ${number} от ${day}`,
  period: (month) => `За ${month} (UTC)`,
  corrects: (number, day, isRise) =>
    `${isRise ? 'Увеличивает' : 'Уменьшает'} сумму счёта № ${number} от ${day}`,
  reason: 'Основание',
  before: 'До',
  change: 'Изменение',
  afterwards: 'После',
  isAddedToChange: 'НДС добавляется к суммам позиций.',
  balanceBefore: 'Остаток до',
  balanceAfter: 'Остаток после',
  seller: 'Продавец',
  customer: 'Покупатель',
  taxId: (id) => `ИНН ${id}`,
  account: (id) => `Аккаунт ${id}`,
  item: 'Позиция',
  hours: 'Часы',
  amount: 'Сумма, руб.',
  deletedProject: 'Удалённый проект',
  items: {
    server: 'Сервер',
    address: 'Публичный адрес',
    snapshot: 'Снимок',
    volume: 'Том',
    image: 'Образ',
    iso: 'ISO-образ',
    backup: 'Резервные копии',
  },
  more: (count) => `ещё ${count}`,
  net: 'Без НДС',
  vat: (percent) => `НДС ${percent} %`,
  noVat: 'НДС не облагается.',
  total: 'Итого',
  isIncluded: 'Суммы позиций включают НДС.',
  isAdded: 'НДС добавляется к суммам позиций и списывается с баланса в день выставления.',
  balance: 'Баланс',
  opening: (day) => `Входящий остаток, ${day}`,
  charges: 'Списания',
  entries: { payment: 'Платёж', refund: 'Возврат', correction: 'Корректировка' },
  closing: 'Исходящий остаток',
  hash: (sha256) => `Данные: SHA-256 ${sha256}`,
  page: (number, of) => `Страница ${number} из ${of}`,
}

export function textOf(language: Language): Text {
  return language === 'ru' ? russian : english
}

const days = {
  en: new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' }),
  ru: new Intl.DateTimeFormat('ru', { dateStyle: 'long', timeZone: 'UTC' }),
}
const months = {
  en: new Intl.DateTimeFormat('en-GB', { month: 'long', year: 'numeric', timeZone: 'UTC' }),
  ru: new Intl.DateTimeFormat('ru', { month: 'long', year: 'numeric', timeZone: 'UTC' }),
}

export function dayOf(language: Language, iso: string): string {
  return days[language].format(Date.parse(iso))
}

/** @param period a month such as 2026-11 */
export function monthOf(language: Language, period: string): string {
  return months[language].format(Date.parse(`${period}-01`))
}

/** An amount as people write it: 1,234.50 or 1 234,50. */
export function amountOf(language: Language, rubles: string): string {
  const [whole = '', kopecks = ''] = rubles.split('.')
  const isRussian = language === 'ru'
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, isRussian ? '\u00a0' : ',')
  return `${grouped}${isRussian ? ',' : '.'}${kopecks}`
}
