/** Gyms, posts and training services. */
import { MODEL } from '@fitness/contracts/model-names.ts';
import { PEOPLE, PUBLIC_USER } from './people.ts';

const CITY = { id: 1, name: 'Tehran', state: { id: 8, name: 'Tehran' } };
const MAJOR = { id: 4, title: 'Bodybuilding' };
const PERIOD = { weekday: 0, opens_at: '07:00', closes_at: '23:00' };
const BOOST = {
  id: 3,
  boostable_type: MODEL.gym,
  boostable_id: 5,
  level: 2,
  starts_at: '2026-03-01 08:30:00',
  ends_at: '2026-03-08 08:30:00',
  created_at: '2026-03-01 08:30:00',
};
const DATES = { created_at: '2026-03-01 08:30:00', updated_at: '2026-03-01 08:30:00' };

export const PLACES = {
  City: CITY,
  Major: MAJOR,
  MarketingBoost: BOOST,
  WorkingPeriod: PERIOD,
  Gym: {
    id: 5,
    name: 'Azadi Gym',
    address: '12 Azadi Street',
    location_lat: 35.6997,
    location_lng: 51.338,
    is_active: true,
    description: 'Open every day.',
    show_crowd: true,
    ...DATES,
    crowd: { current: 24, capacity: 80, level: 'low' },
    city: CITY,
    majors: [MAJOR],
    working_periods: [PERIOD],
    working_status: { is_open: true, changes_at: '2026-03-01 19:30:00' },
    boost: BOOST,
    media: [],
    rating_count: 18,
    rating_average: 4.5,
  },
  Post: {
    id: 40,
    profile_type: MODEL.user,
    profile_id: 12,
    title: 'Five shoulder exercises',
    content: 'Start with a light weight.',
    is_draft: false,
    in_blog: true,
    media: [],
    ...DATES,
  },
  TrainingService: {
    id: 21,
    user_id: 12,
    user: PUBLIC_USER,
    title: 'Eight weeks of strength training',
    description: 'Three sessions a week and a meal plan.',
    price: 1_200_000,
    duration_days: 56,
    is_active: true,
    boost: null,
    media: [PEOPLE.Media],
    ...DATES,
  },
  Trainee: {
    id: 61,
    training_service_id: 21,
    title: 'Eight weeks of strength training',
    user_id: 12,
    user: PUBLIC_USER,
    seller_user_id: 30,
    price: 1_200_000,
    status: 'active',
    delivered_at: null,
    created_at: '2026-03-01 08:30:00',
  },
};
