"""One module for each topic; each class is the page of one exercise. They stay with the judge."""
