import { messages } from '../messages.ts'

export const useAbuseText = messages({
  en: {
    title: 'Signs of abuse',
    about: 'What the service sees every ten minutes. A sign is no proof; you decide what follows.',
    none: 'No signs of abuse',
    kind: 'Sign',
    kinds: {
      outgoing_flood: 'Outgoing flood',
      many_connections: 'Many connections',
      mail_tries: 'Tries to send mail',
      cpu_at_limit: 'CPU at the limit for days',
      accounts_of_network: 'Accounts from one network',
      accounts_of_card: 'Accounts with one card',
    },
    anyKind: 'Any sign',
    accounts: 'Accounts',
    more: (count: string) => `and ${count} more`,
    frozen: 'Frozen',
    place: 'Server or network',
    since: 'Since',
    seen: 'Last seen',
    figure: 'Figure',
    peak: (figure: string) => `peak ${figure}`,
    units: {
      packets_per_second: (value: string) => `${value} packets/s`,
      connections_per_second: (value: string) => `${value} connections/s`,
      tries_per_hour: (value: string) => `${value} tries/h`,
      percent: (value: string) => `${value} %`,
      accounts: (value: string) => `${value} accounts`,
    },
    remedy: 'What to do',
    remedies: {
      outgoing_flood: 'Unless the customer has announced it, open the account and freeze it.',
      many_connections:
        'Crawlers and resolvers do so, too. If it scans others, open the account and freeze it.',
      mail_tries:
        'All were refused. Ask the customer what sends mail, or suspend the account until they answer.',
      cpu_at_limit: 'It is paid for. If it mines against your terms, suspend the account.',
      accounts_of_network:
        'Offices and mobile networks share an address, too. Compare the accounts, and freeze copies.',
      accounts_of_card: 'Compare the accounts, look for disputes at the provider, and freeze copies.',
    },
  },
  ru: {
    title: 'Признаки злоупотреблений',
    about: 'То, что сервис видит каждые десять минут. Признак — не доказательство: решаете вы.',
    none: 'Признаков злоупотреблений нет',
    kind: 'Признак',
    kinds: {
      outgoing_flood: 'Исходящий флуд',
      many_connections: 'Множество соединений',
      mail_tries: 'Попытки отправки почты',
      cpu_at_limit: 'Процессор на пределе днями',
      accounts_of_network: 'Аккаунты из одной сети',
      accounts_of_card: 'Аккаунты с одной картой',
    },
    anyKind: 'Любой признак',
    accounts: 'Аккаунты',
    more: (count: string) => `и ещё ${count}`,
    frozen: 'Заморожен',
    place: 'Сервер или сеть',
    since: 'С какого времени',
    seen: 'Замечено',
    figure: 'Значение',
    peak: (figure: string) => `пик ${figure}`,
    units: {
      packets_per_second: (value: string) => `${value} пакетов/с`,
      connections_per_second: (value: string) => `${value} соединений/с`,
      tries_per_hour: (value: string) => `${value} попыток/ч`,
      percent: (value: string) => `${value} %`,
      accounts: (value: string) => `${value} аккаунтов`,
    },
    remedy: 'Что делать',
    remedies: {
      outgoing_flood: 'Если клиент не предупредил, откройте аккаунт и заморозьте его.',
      many_connections:
        'Так делают и поисковые роботы, и резолверы. Если сканируются чужие сети, откройте аккаунт и заморозьте его.',
      mail_tries:
        'Все попытки отклонены. Спросите клиента, что отправляет почту, или приостановите аккаунт до ответа.',
      cpu_at_limit: 'Это оплачено. Если это майнинг вопреки вашим условиям, приостановите аккаунт.',
      accounts_of_network: 'У офиса и мобильной сети тоже один адрес. Сравните аккаунты и заморозьте копии.',
      accounts_of_card: 'Сравните аккаунты, проверьте споры у платёжной системы и заморозьте копии.',
    },
  },
})
