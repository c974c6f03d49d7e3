import type { fields as en } from '../en/fields.ts';

export const fields: Record<keyof typeof en, string> = {
  'field.account': 'Akaunti',
  'field.category': 'Aina',
  'field.createdAt': 'Iliundwa',
  'field.customer': 'Mteja',
  'field.date': 'Tarehe',
  'field.description': 'Maelezo',
  'field.externalId': 'Kitambulisho cha nje',
  'field.firstName': 'Jina la kwanza',
  'field.lastName': 'Jina la ukoo',
  'field.name': 'Jina',
  'field.phone': 'Simu',
  'field.product': 'Bidhaa',
  'field.status': 'Hali',
  'field.total': 'Jumla',
  'filter.from': 'Kuanzia',
  'filter.until': 'Hadi',
  'field.email': 'Barua pepe',
  'field.employee': 'Mfanyakazi',
  'field.role': 'Wadhifa',
};
