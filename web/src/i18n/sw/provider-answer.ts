import type { providerAnswer as en } from '../en/provider-answer.ts';

export const providerAnswer: Record<keyof typeof en, string> = {
  'answer.title': 'Mtoa huduma',
  'answer.lead': 'Muulize mtoa huduma anachojua kuhusu muamala huu. Jibu halibadilishi chochote.',
  'answer.ask': 'Muulize mtoa huduma',
  'answer.askAgain': 'Uliza tena',
  'answer.transaction': 'Namba ya muamala (inakili kutoka kwenye ujumbe ulio hapa chini)',
  'answer.waiting': 'Ameulizwa saa {time}. Jibu litaonekana hapa.',
  'answer.sending': 'Jaribio la mwisho limeshindikana. Ataulizwa tena.',
  'answer.by': 'Aliyeuliza: {name}, jibu {time}',
  'answer.same': 'Jibu linakubaliana na vitabu.',
  'answer.differs': 'Katika vitabu: {value}',
  'answer.status': 'Hali',
  'answer.amount': 'Kiasi',
  'answer.payer': 'Mlipaji',
  'answer.receiver': 'Aliyelipwa',
  'answer.date': 'Ilikamilika',
  'answer.reason': 'Aina ya muamala',
  'statusQueryState.not_found': 'Mtoa huduma hajui muamala huu',
  'statusQueryState.failed': 'Swali limeshindikana',
  'statusQueryState.unanswered': 'Mtoa huduma hajajibu',
};
