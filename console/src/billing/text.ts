import { count, messages } from '../messages.ts'

/** Such as "1 h 30 min": parts that are 0 are left out. */
function durationIn(seconds: number, [h, min, s]: readonly [string, string, string]): string {
  const parts = [
    [Math.floor(seconds / 3600), h],
    [Math.floor((seconds % 3600) / 60), min],
    [seconds % 60, s],
  ] as const
  return parts.flatMap(([value, unit]) => (value > 0 ? [`${value} ${unit}`] : [])).join(' ')
}

export const useBillingText = messages({
  en: {
    title: 'Billing',
    balance: 'Balance',
    span: (hours: number) =>
      hours < 48
        ? count('en', hours, { one: 'hour', other: 'hours' })
        : count('en', Math.floor(hours / 24), { one: 'day', other: 'days' }),
    lasts: (span: string) => `lasts ${span} more`,
    low: (span: string) => `The balance lasts ${span} more.`,
    nothingBilled: 'nothing is billed now',
    topUp: 'Top up',
    topUpAbout: 'To top up, contact:',
    month: 'Charged this month',
    perMonth: (amount: string) => `${amount} a month at this rate`,
    hour: 'Per hour now',
    usage: 'Cost by server and address',
    monthOf: 'Month',
    item: 'Item',
    items: {
      server: 'Server',
      address: 'Address',
      snapshot: 'Snapshot',
      volume: 'Volume',
      image: 'Image',
      backup: 'Backups of',
    },
    project: 'Project',
    hours: 'Hours',
    amount: 'Amount',
    noUsage: 'No charges this month',
    csv: 'Download CSV',
    ledger: 'Transactions',
    date: 'Date',
    type: 'Type',
    for: 'For',
    duration: (seconds: number) => durationIn(seconds, ['h', 'min', 's']),
    traffic: (gigabytes: string) => `${gigabytes} GB of traffic`,
    after: 'Balance after',
    types: { charge: 'Charge', payment: 'Payment', refund: 'Refund', correction: 'Correction' },
    noTransactions: 'No transactions yet',
    toResume: (amount: string) => `Servers are suspended. Top up ${amount} to resume them.`,
    total: 'Total',
  },
  ru: {
    title: 'Оплата',
    balance: 'Баланс',
    span: (hours: number) =>
      hours < 48
        ? count('ru', hours, { one: 'час', few: 'часа', many: 'часов', other: 'часа' })
        : count('ru', Math.floor(hours / 24), { one: 'день', few: 'дня', many: 'дней', other: 'дня' }),
    lasts: (span: string) => `хватит ещё на ${span}`,
    low: (span: string) => `Баланса хватит ещё на ${span}.`,
    nothingBilled: 'сейчас ничего не тарифицируется',
    topUp: 'Пополнить',
    topUpAbout: 'Чтобы пополнить баланс, обратитесь сюда:',
    month: 'Начислено за месяц',
    perMonth: (amount: string) => `${amount} в месяц при текущем расходе`,
    hour: 'Сейчас в час',
    usage: 'Затраты по серверам и адресам',
    monthOf: 'Месяц',
    item: 'Услуга',
    items: {
      server: 'Сервер',
      address: 'Адрес',
      snapshot: 'Снимок',
      volume: 'Том',
      image: 'Образ',
      backup: 'Резервные копии',
    },
    project: 'Проект',
    hours: 'Часы',
    amount: 'Сумма',
    noUsage: 'В этом месяце начислений не было',
    csv: 'Скачать CSV',
    ledger: 'Операции по счёту',
    date: 'Дата',
    type: 'Тип',
    for: 'За что',
    duration: (seconds: number) => durationIn(seconds, ['ч', 'мин', 'с']),
    traffic: (gigabytes: string) => `${gigabytes} ГБ трафика`,
    after: 'Баланс после',
    types: { charge: 'Начисление', payment: 'Платёж', refund: 'Возврат', correction: 'Корректировка' },
    noTransactions: 'Операций пока нет',
    toResume: (amount: string) =>
      `Серверы приостановлены. Чтобы возобновить их, пополните баланс ещё на ${amount}.`,
    total: 'Всего',
  },
})
