"""A venue for a class: students who join, a teacher's controls and pages, a leaderboard, notebooks graded."""
